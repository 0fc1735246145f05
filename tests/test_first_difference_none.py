"""What is right has no first difference, and what cannot be seen hides none."""

from dataclasses import replace
from typing import Final

import pytest

from engine import Stage
from properties.built_in import BuiltIn
from properties.calls import Call, Close, Decode, Prefill, Reset, Step
from properties.chapter import CONFIG as CHAPTER
from properties.drawn import initial_weights
from properties.first_difference import FirstDifference, NoDifference
from properties.judge import Judge
from properties.laws import LAWS
from properties.rehearsal import rehearse
from properties.replayed import Replayed
from properties.script import Script, Weights
from properties.spots import ANSWER, _allowed
from properties.subject import Answer, Offer
from properties.tolerance import APART
from tests.black_boxes import (
    forgets_the_first_token,
    keeps_a_row_in_a_reset,
    make,
    rounds_its_logits,
)
from tests.broken_answers import rounds_logits, tells_the_next_position
from tests.broken_runs import (
    generates_unseen,
    shows_its_own_values,
    touches_the_first_row,
)
from tests.broken_stages import KEYS, scales_by_no_root
from tests.first_places import (
    DTYPES,
    GROWS,
    SAMPLES,
    WIDE,
    At,
    found_in,
    place_of,
    script_of,
)
from tests.judged import MIXED, failure_of
from tests.planned import fault
from tests.witness import Patch

RIGHT: Final = {
    "calls of all kinds": script_of(*MIXED, config=CHAPTER),
    "grouped": script_of(*GROWS, Reset(), *GROWS, SAMPLES),
    "float32": script_of(*GROWS, SAMPLES, config=DTYPES["float32"]),
    "no blocks": script_of(*GROWS, config=replace(WIDE, n_layers=0)),
    "one head": script_of(*GROWS, config=replace(WIDE, n_heads=1, n_kv_heads=1)),
    "refusals": script_of(Decode(token_id=0), *GROWS, Decode(token_id=9), *GROWS),
    "faults": script_of(
        *GROWS,
        SAMPLES,
        faults=(fault(0, 40), fault(1, 7, "KeyboardInterrupt"), fault(2, 20)),
    ),
    "other weights": script_of(Prefill(prompt=(0,)), Close(), Step(), SAMPLES),
    "stages that fail": script_of(*GROWS).model_copy(
        update={"weights": Weights(seed=38, scale=1e100)}
    ),
}


@pytest.mark.parametrize("script", RIGHT.values(), ids=RIGHT)
def test_right_engine_has_none(script: Script) -> None:
    plan = rehearse(script, initial_weights(script.config, script.weights))

    assert Judge()._first_difference(script, plan, 99) is None


def test_rows_that_nobody_saw_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was seen of the calls before is nothing to go by."""
    generates_unseen(monkeypatch)
    test_right_engine_has_none(script_of(Prefill(prompt=(1, 2)), SAMPLES))


def test_nothing_that_was_shown_is_spoilt(monkeypatch: pytest.MonkeyPatch) -> None:
    shows_its_own_values(monkeypatch)
    rounds_logits(monkeypatch)

    assert place_of(found_in(script_of(*GROWS))) == At(ANSWER, None, 1)


def test_calls_after_the_failure_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    tells_the_next_position(monkeypatch)
    touches_the_first_row(monkeypatch)
    failure = failure_of(script_of(*GROWS))

    assert list(failure.broken) == [LAWS["S1"]]
    assert isinstance(failure.first, NoDifference)


def test_bound_of_a_stage_is_that_of_two_computations() -> None:
    replayed = Replayed.of(WIDE, initial_weights(WIDE, Weights(seed=38)), (0, 1))
    due, bound = _allowed(replayed, (Stage.GATE, 1), 1)

    assert due.tolist() == replayed.recorded[Stage.GATE, 1][1].tolist()
    assert bound.tolist() == (APART * replayed.bounds.at[Stage.GATE, 1][1]).tolist()


class Mute(BuiltIn):
    def perform(self, call: Call) -> Answer:
        super().perform(call)
        return Answer()


def test_answer_that_does_not_come_is_named() -> None:
    first = failure_of(script_of(*GROWS), Judge(Mute)).first

    assert isinstance(first, FirstDifference)
    assert (place_of(first), first.came) == (At(ANSWER, None, 1), None)


class Unprobed(BuiltIn):
    offers = BuiltIn.offers - {Offer.PROBE}


def test_without_a_probe_rows_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one key a score does not matter, so the first row is right."""
    scales_by_no_root.plant(monkeypatch)
    first = failure_of(script_of(*GROWS), Judge(Unprobed)).first

    assert isinstance(first, FirstDifference)
    assert place_of(first) == At(KEYS, 1, 1, 0)


@pytest.mark.parametrize(
    ("breaks", "call"),
    [
        (forgets_the_first_token, 0),
        (rounds_its_logits, 0),
        (keeps_a_row_in_a_reset, 3),
    ],
)
def test_of_a_black_box_answers_are_looked_at(
    breaks: Patch, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)
    first = failure_of(script_of(*GROWS, Reset(), *GROWS), Judge(make)).first

    assert isinstance(first, FirstDifference)
    assert (first.call, place_of(first)) == (call, At(ANSWER, None, 1))
