"""Each rule of others, on logits that were made up for it."""

from typing import Final

import numpy as np
import pytest

from properties.field_rules import FIELD_RULES, parting

# Two steps over seven tokens: token 0 is chosen, then token 1.
_DUE: Final = np.array([[9.0, 8, 7, 6, 5, 4, 3], [8.0, 9, 7, 6, 5, 4, 3]])


def changed(
    step: int, token_id: int, change: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    came = _DUE.copy()
    came[step, token_id] += change
    return came


def rejecting(step: int, token_id: int, change: float) -> set[str]:
    came = changed(step, token_id, change)
    return {name for name, rule in FIELD_RULES.items() if rule(_DUE, came)}


def test_equal_logits_are_rejected_by_none() -> None:
    assert rejecting(0, 0, 0.0) == set()


CASES: Final = {
    "a little": (0, 6, 1e-6, {"allclose 1e-7"}),
    "more": (0, 6, 1e-4, {"allclose 1e-7", "allclose 1e-5"}),
    "much": (0, 6, 0.1, {"allclose 1e-7", "allclose 1e-5", "allclose 1e-3"}),
    "a later step": (1, 6, 0.1, set()),
    "a later step, much": (1, 6, 2.9, {"mean KL 0.002"}),
    "a later token": (1, 0, 1.5, {"5 tokens", "scores 1e-5", "mean KL 0.002"}),
    "a later token, not of the best": (
        *(1, 6, 9.0),
        {"5 tokens", "scores 1e-5", "top 5", "mean KL 0.002"},
    ),
    "a token of the best": (0, 1, 1.5, set(FIELD_RULES) - {"top 5"}),
    "the fifth": (0, 4, 9.0, set(FIELD_RULES) - {"top 5"}),
    "the sixth": (0, 5, 9.0, set(FIELD_RULES)),
    "the token itself is no longer of the best": (0, 0, -5.5, set(FIELD_RULES)),
    "no number": (0, 6, np.nan, set(FIELD_RULES)),
}


@pytest.mark.parametrize("case", CASES)
def test_rules_reject(case: str) -> None:
    step, token_id, change, expected = CASES[case]

    assert rejecting(step, token_id, change) == expected


@pytest.mark.parametrize("due", [0.0, -3.0])
@pytest.mark.parametrize("tolerance", ["1e-3", "1e-5", "1e-7"])
def test_tolerance_is_absolute_and_relative(tolerance: str, due: float) -> None:
    rule, allowed = FIELD_RULES[f"allclose {tolerance}"], float(tolerance) * (1 - due)
    logits = np.array([[due]])

    assert not rule(logits, logits + 0.9 * allowed)
    assert rule(logits, logits + 1.1 * allowed)


def test_near_tie_that_parts_is_forgiven_by_its_scores() -> None:
    due = np.array([[1.0, 1 + 1e-7, 0, 0, 0, 0]])
    came = due[:, [1, 0, 2, 3, 4, 5]]
    found = {name for name, rule in FIELD_RULES.items() if rule(due, came)}

    assert found == {"argmax", "5 tokens"}


@pytest.mark.parametrize(("shift", "is_rejected"), [(0.0314, False), (0.032, True)])
def test_divergence_is_that_of_the_distributions(
    shift: float, *, is_rejected: bool
) -> None:
    """Of a half and another half that is off by ``d``: about two times its square."""
    due, came = np.log([[0.5, 0.5]]), np.log([[0.5 - shift, 0.5 + shift]])

    assert FIELD_RULES["mean KL 0.002"](due, came) is is_rejected


def test_divergence_is_a_mean_over_steps() -> None:
    due = np.log([[0.5, 0.5], [0.5, 0.5]])
    came = np.log([[0.46, 0.54], [0.5, 0.5]])

    assert FIELD_RULES["mean KL 0.002"](due[:1], came[:1])
    assert not FIELD_RULES["mean KL 0.002"](due, came)


def test_parting_is_the_first_step() -> None:
    assert parting(_DUE, _DUE) is None
    assert parting(_DUE, _DUE[::-1]) == 0
    assert parting(_DUE, changed(1, 0, 5.0)) == 1
