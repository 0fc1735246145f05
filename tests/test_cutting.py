"""A script that fails is cut down to the calls without which it would not."""

import pytest

from properties.calls import Bind, Call, Close, Decode, Prefill, Reset
from properties.cutting import cut
from properties.hunting import hunt
from properties.judge import Judge, PropertyFailed, Verdict
from properties.plugin import PROFILES
from tests.broken_answers import (
    nudges_after_a_refusal,
    rotates_one_further,
    zeroes_rows_in_a_reset,
)
from tests.broken_failures import nudges_after_a_failure
from tests.judged import failure_of, script_of
from tests.planned import fault
from tests.witness import Patch

NOISE: tuple[Call, ...] = (Bind(), Decode(token_id=9), Close(), Bind(), Bind())


@pytest.mark.parametrize(
    ("breaks", "needed"),
    [
        (rotates_one_further, ()),  # the judge's own prompt shows it
        (zeroes_rows_in_a_reset, (Reset(),)),
    ],
)
def test_cut_leaves_what_is_needed(
    breaks: Patch, needed: tuple[Call, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)
    calls = (*NOISE, Prefill(prompt=(0, 1)), *NOISE, *needed, *NOISE)

    failure = cut(failure_of(script_of(*calls)), Judge)

    assert failure.script.calls == needed


def test_cut_moves_faults_with_their_calls_and_leaves_out_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nudges_after_a_failure(monkeypatch)
    start, decode = Prefill(prompt=(0, 1)), Decode(token_id=2)
    calls = (*NOISE, start, start, decode, decode, *NOISE)
    faults = fault(len(NOISE), 3), fault(len(NOISE) + 2, 9)

    failure = cut(failure_of(script_of(*calls, faults=faults)), Judge)

    assert failure.law.id == "A2"
    assert failure.script.calls == (start, decode)
    assert failure.script.faults == (fault(1, 9),)


def test_hunt_raises_what_was_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    nudges_after_a_refusal(monkeypatch)

    with pytest.raises(PropertyFailed) as failure:
        hunt(Judge, list[Verdict]().append, PROFILES["default"].machine)

    # Whatever else came between, or nothing since the last right answer, may be blamed.
    assert failure.value.law.id in {"R3", "S3", "S4", "S5", "S6", "B3", "E2"}
    assert len(failure.value.script.calls) <= 6
