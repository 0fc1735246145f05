"""The first number beyond its bound is named, and it is the one that is broken."""

from typing import Final

import pytest

from engine import DecoderConfig, Stage
from properties.calls import (
    Bind,
    Call,
    Close,
    Decode,
    NewCache,
    Prefill,
    Reset,
    Step,
)
from properties.first_difference import NoDifference
from properties.judge import Judge
from properties.laws import LAWS
from properties.spots import ANSWER
from tests.broken_answers import (
    chooses_the_second_best,
    rotates_one_further,
    rounds_logits,
)
from tests.broken_runs import (
    hides_its_newest_row,
    is_wrong_after_a_failure,
    is_wrong_after_a_reset,
    is_wrong_where_counters_go_on,
    reads_its_first_weights_for_ever,
    touches_the_first_row,
)
from tests.broken_stages import (
    IN_LAYERS,
    IN_ROWS,
    KEYS,
    OF_ONE_NUMBER,
    VALUES,
    scales_by_no_root,
)
from tests.first_places import DTYPES, GROWS, SAMPLES, At, found_in, place_of, script_of
from tests.judged import failure_of
from tests.planned import fault
from tests.slips import Slip
from tests.witness import Patch


@pytest.mark.parametrize("config", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("slip", [*IN_ROWS, *IN_LAYERS], ids=lambda each: each.name)
def test_first_place_is_the_broken_one(
    slip: Slip, config: DecoderConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    slip.plant(monkeypatch)
    first = found_in(script_of(*GROWS, config=config))

    assert (first.call, first.is_closing) == (0, False)
    assert place_of(first) == slip.shows


@pytest.mark.parametrize("slip", OF_ONE_NUMBER, ids=lambda each: each.name)
def test_first_number_is_the_broken_one(
    slip: Slip, monkeypatch: pytest.MonkeyPatch
) -> None:
    slip.plant(monkeypatch)
    first = found_in(script_of(*GROWS))

    assert place_of(first)._replace(element=first.element) == slip.shows


STEPPED: Final = (Close(), Step(), NewCache(), Bind(cache=1))
SECOND: Final = (NewCache(work=(9, 8, 7, 6, 5, 4)), Bind(cache=1))


@pytest.mark.parametrize(
    ("breaks", "calls", "call", "shows"),
    [
        (rounds_logits, GROWS, 0, At(ANSWER, None, 1)),
        (rotates_one_further, GROWS, 0, At(Stage.QUERY_ROTATION, head=0)),
        (hides_its_newest_row, GROWS, 0, At(KEYS, 0, 1)),
        (touches_the_first_row, GROWS, 1, At(VALUES, 0, 0, 0)),
        (is_wrong_after_a_reset, (*GROWS, Reset(), *GROWS), 3, At(KEYS, 1, 0, 0)),
        (
            is_wrong_where_counters_go_on,
            (*GROWS, *SECOND, Prefill(cache=1, prompt=(2,))),
            4,
            At(KEYS, 1, 0, 0),
        ),
        (
            reads_its_first_weights_for_ever,
            (*STEPPED, Prefill(cache=1, prompt=(0,))),
            4,
            At(Stage.EMBEDDING, None),
        ),
    ],
)
def test_first_place_is_where_a_run_goes_wrong(
    breaks: Patch,
    calls: tuple[Call, ...],
    call: int,
    shows: At,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breaks(monkeypatch)
    first = found_in(script_of(*calls))

    assert (first.call, first.is_closing) == (call, False)
    assert place_of(first) == shows


def test_faults_strike_as_they_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a probe sees before a fault is no difference, nor is what the fault does."""
    script = script_of(*GROWS, Decode(token_id=2), faults=(fault(1, 9),))
    Judge()(script)
    is_wrong_after_a_failure(monkeypatch)
    first = found_in(script)

    assert (first.call, place_of(first)) == (2, At(KEYS, 1, 2, 0))


def test_call_of_the_judge_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    touches_the_first_row(monkeypatch)
    first = found_in(script_of(Reset(), Prefill(prompt=(0,))))

    assert (first.call, first.is_closing, first.position) == (1, True, 0)
    assert str(first).startswith("judge's call 1, block 0, cached values, position 0, ")


@pytest.mark.parametrize(
    "slip", [scales_by_no_root, IN_ROWS[-1], IN_LAYERS[5]], ids=lambda each: each.name
)
def test_generation_is_looked_into(slip: Slip, monkeypatch: pytest.MonkeyPatch) -> None:
    slip.plant(monkeypatch)
    first = found_in(script_of(Reset(), SAMPLES))

    assert (first.call, place_of(first)) == (1, slip.shows)


def test_chosen_tokens_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another choice is no wrong number."""
    chooses_the_second_best(monkeypatch)
    failure = failure_of(script_of(SAMPLES))

    assert list(failure.broken) == [LAWS["P6"]]
    assert isinstance(failure.first, NoDifference)
