"""The search for the first number beyond its bound is made for a message, once."""

from dataclasses import replace
from typing import Final

import pytest

from engine import Stage
from properties.built_in import BuiltIn
from properties.calls import Prefill
from properties.chapter import CONFIG
from properties.first_difference import FirstDifference
from properties.judge import Judge
from properties.script import Script, Weights
from properties.spots import ANSWER
from properties.subject import Observation
from tests.broken_answers import misses_by_more_than_a_bound, rotates_one_further
from tests.broken_runs import is_wrong_without_a_probe
from tests.judged import GROWS, failure_of, script_of

PLACE: Final = "call 2, block 1, key rotation, position 3"
NUMBERS: Final = "due 0.1, came 0.3, bound 2e-16"
FIRST: Final = FirstDifference(
    call=2,
    is_closing=False,
    block=1,
    stage=Stage.KEY_ROTATION,
    position=3,
    head=0,
    element=2,
    due=0.1,
    came=0.3,
    bound=2e-16,
)
NO_NUMBER: Final = replace(FIRST, head=None, element=None, due=(4, 2), bound=None)


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (FIRST, f"{PLACE}, key/value head 0, feature 2: {NUMBERS}"),
        (
            replace(FIRST, stage=Stage.SCORES),
            f"call 2, block 1, scores, position 3, head 0, key 2: {NUMBERS}",
        ),
        (
            replace(FIRST, stage=ANSWER, block=None, head=None),
            f"call 2, answer, position 3, token 2: {NUMBERS}",
        ),
        (
            replace(FIRST, stage=Stage.GATE, head=None, is_closing=True),
            f"judge's call 2, block 1, gate, position 3, feature 2: {NUMBERS}",
        ),
        (
            replace(NO_NUMBER, came=None),
            f"{PLACE}: due shape (4, 2), nothing came",
        ),
        (
            replace(NO_NUMBER, came=(3,)),
            f"{PLACE}: due shape (4, 2), came shape (3,)",
        ),
    ],
)
def test_difference_is_told_in_a_line(first: FirstDifference, told: str) -> None:
    assert str(first) == told


def test_message_has_it_before_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    rotates_one_further(monkeypatch)
    failure = failure_of(script_of(*GROWS))
    lines = str(failure).splitlines()

    assert lines[0].startswith("P2 rows: call 0, ")
    assert lines[5] == f"  first difference: {failure.first}"
    assert lines[5].startswith("  first difference: call 0, block 0, query rotation, ")
    assert lines[6].startswith('{"version":')


def test_search_waits_until_somebody_asks_and_is_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rotates_one_further(monkeypatch)
    made = set[BuiltIn]()

    class Counted(BuiltIn):
        def observe(self) -> Observation:
            made.add(self)
            return super().observe()

    failure = failure_of(script_of(*GROWS), Judge(Counted))
    counts = [len(made)]
    for _ in range(2):
        assert str(failure)
        counts.append(len(made))

    assert counts == [1, 2, 2]


def test_failure_stands_that_does_not_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_wrong_without_a_probe(monkeypatch)
    lines = str(failure_of(script_of(*GROWS))).splitlines()

    assert lines[0].startswith("P1 logits")
    assert lines[5] == "  first difference: no number is beyond its bound"


def test_failure_stands_if_the_search_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(*_: object) -> None:
        message = "once is enough"
        raise RuntimeError(message)

    rotates_one_further(monkeypatch)
    failure = failure_of(script_of(*GROWS))
    monkeypatch.setattr(BuiltIn, "__init__", init)

    assert str(failure.first) == "looking for it raised RuntimeError('once is enough')"
    assert str(failure).startswith("P2 rows")


def test_miss_of_the_truth_alone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """All is within two bounds of the replay; the answer misses the truth by 1.5."""
    misses_by_more_than_a_bound(monkeypatch)
    script = Script(
        config=CONFIG,
        weights=Weights(seed=38, gain_spread=0.5),
        calls=(Prefill(prompt=(0, 1)),),
    )
    first = failure_of(script).first

    assert isinstance(first, FirstDifference)
    assert (first.call, first.stage, first.position) == (0, "answer", 1)
