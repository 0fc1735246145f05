"""What seeds and flaws stand for."""

from typing import Final

import numpy as np
import pytest

from engine.arrays import Array
from properties.calls import Flaw, Step
from properties.drawn import gradients, initial_weights, stepped
from properties.script import ScriptRejected, Weights
from tests.models import EMBEDDING, TINY

SHAPES: Final = ((2, 3), (4,), (1,))
LARGE: Final = float(np.finfo(np.float64).max) ** 0.65
PLAIN: Final = gradients(Step(), SHAPES)


def flawed(kind: str, index: int = 1) -> tuple[Array, ...]:
    flaw = Flaw.model_validate({"kind": kind, "index": index})
    return gradients(Step(flaw=flaw), SHAPES)


def test_gradients_have_the_shapes_and_fill_the_scale() -> None:
    (wide,) = gradients(Step(scale=3.0), ((1000,),))

    assert tuple(each.shape for each in PLAIN) == SHAPES
    assert 2.9 < wide.max() < 3
    assert -3 < wide.min() < -2.9


def test_gradients_are_others_by_another_seed() -> None:
    other = gradients(Step(seed=1), SHAPES)

    assert all((a != b).all() for a, b in zip(PLAIN, other, strict=True))


@pytest.mark.parametrize(("kind", "number"), [("nan", np.nan), ("overflow", LARGE)])
def test_flaw_spoils_the_last_number_at_its_index(kind: str, number: float) -> None:
    made = flawed(kind)
    due = PLAIN[1].copy()
    due[-1] = number

    np.testing.assert_array_equal(made[1], due)
    assert all((made[i] == PLAIN[i]).all() for i in (0, 2))


def test_flaw_is_a_gradient_too_few_too_many_or_of_no_fitting_shape() -> None:
    assert [each.shape for each in flawed("missing")] == [(2, 3), (4,)]
    assert [each.shape for each in flawed("surplus")] == [*SHAPES, (1,)]
    assert [each.shape for each in flawed("shape")] == [(2, 3), (1, 2, 3), (1,)]


@pytest.mark.parametrize("kind", ["duplicate", "subset"])
def test_flaw_of_the_parameters_leaves_the_gradients(kind: str) -> None:
    made = flawed(kind)

    assert all((a == b).all() for a, b in zip(PLAIN, made, strict=True))


@pytest.mark.parametrize(
    ("flaw", "chosen"),
    [
        (None, "abc"),
        (Flaw(kind="duplicate", index=1), "abcb"),
        (Flaw(kind="subset", index=1), "ac"),
        (Flaw(kind="nan", index=2), "abc"),
    ],
)
def test_step_is_given_all_parameters_but_for_the_flaw(
    flaw: Flaw | None, chosen: str
) -> None:
    assert stepped(Step(flaw=flaw), "abc") == list(chosen)


def test_flaw_at_no_parameter_is_rejected() -> None:
    with pytest.raises(ScriptRejected, match="no parameter 3"):
        stepped(Step(flaw=Flaw(kind="missing", index=3)), "abc")


def test_weights_are_scaled_and_gains_are_spread() -> None:
    plain = initial_weights(TINY, Weights(seed=1))
    scaled = initial_weights(TINY, Weights(seed=1, scale=3.0, gain_spread=0.5))
    gains = [value for value in scaled.values() if value.ndim == 1]

    assert (scaled[EMBEDDING] == 3 * plain[EMBEDDING]).all()
    assert all((value == 1).all() for value in plain.values() if value.ndim == 1)
    assert len({float(number) for gain in gains for number in gain}) == 6
    assert all((np.abs(gain - 1) <= 0.5).all() for gain in gains)
