"""The fault sweep strikes all that can be struck, and sees what is left half-way."""

import io
import json
from collections import Counter
from dataclasses import replace
from typing import Final

import pytest
from rich.console import Console

from engine import DecoderSession, Stage, StepOutput
from engine.prefix import State
from engine.row import Row
from engine.work import Work
from properties.cells import CALLS, MODES, starts
from properties.fault_grid import StrikesMissed, reachable, require_complete
from properties.fault_report import in_a_line, tables, to_json
from properties.faults import (
    Strike,
    Sweep,
    Unreachable,
    _struck,
    every,
    one_from,
    sweep,
)
from properties.judge import Judge, PropertyFailed
from properties.points import Fallible, Point
from properties.script import FAULTS, from_json

PREFILL, DECODE, GENERATE = CALLS
WHOLE: Final = Sweep(
    strikes=tuple(
        Strike(call, start, mode.name, raises, 0, point)
        for call, start, point in reachable()
        for mode in MODES
        for raises in (FAULTS if mode.has_every_kind else FAULTS[:1])
    ),
    unreachable=(),
    seconds=1.0,
)
"""What a sweep strikes, without striking it."""


@pytest.fixture(scope="module")
def decodes() -> Sweep:
    middle = next(each for each in starts(DECODE) if each.name == "middle")
    cells = _struck(Judge(), middle, DECODE, every)
    return Sweep(strikes=tuple(cells), unreachable=(), seconds=1.0)


def test_sweep_strikes_ten_thousand_and_more() -> None:
    assert len(WHOLE.strikes) == 14_720


def test_decode_is_struck_wherever_it_can_be(decodes: Sweep) -> None:
    due = Counter(
        (cell.mode, cell.point)
        for cell in WHOLE.strikes
        if (cell.call, cell.start) == decodes.strikes[0][:2]
    )

    assert Counter((cell.mode, cell.point) for cell in decodes.strikes) == due


def test_every_stage_is_struck_but_two() -> None:
    assert {*Stage} - {cell.point.stage for cell in WHOLE.strikes} == {
        Stage.LOSS,
        Stage.GRADIENT,
    }


@pytest.mark.parametrize("call", CALLS, ids=[call.call for call in CALLS])
def test_start_is_reachable_or_says_what_comes_first(call: Fallible) -> None:
    names = {start for name, start, _ in reachable() if name == call.call}
    made = list(starts(call))

    assert {each.name for each in made if not each.refusal} == names
    assert len(made) == 9


def test_one_thing_a_point_is_another_one_from_point_to_point() -> None:
    chosen = one_from(2)

    assert [[*chosen(number)] for number in range(5)] == [
        [FAULTS[index]] for index in (2, 3, 0, 1, 2)
    ]


def test_whole_sweep_is_complete() -> None:
    require_complete(WHOLE)


def test_fault_that_did_not_strike_is_missed() -> None:
    lost = WHOLE.strikes[1_000]
    less = replace(WHOLE, strikes=tuple(each for each in WHOLE.strikes if each != lost))

    with pytest.raises(StrikesMissed) as missed:
        require_complete(less)

    assert missed.value.missed == (
        f"{lost[0]} from {lost[1]}, {lost.point}: 9, not 10",
    )
    assert str(missed.value).startswith("1 faults are not as they must be:")


def test_stage_that_nobody_knew_is_told() -> None:
    strange = WHOLE.strikes[0]._replace(point=Point(Stage.LOSS, None, 0))

    with pytest.raises(StrikesMissed, match="loss, position 0: 1, not 0"):
        require_complete(replace(WHOLE, strikes=(*WHOLE.strikes, strange)))


def commits_before_it_is_watched(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession._commit

    def commit(session: DecoderSession, newest: Row, done: Work) -> StepOutput:
        work = session._prefix.state.work.plus(done)
        session._prefix.state = State(newest.position + 1, work)
        return honest(session, newest, Work())

    patch.setattr(DecoderSession, "_commit", commit)


def test_commit_that_comes_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    commits_before_it_is_watched(monkeypatch)

    with pytest.raises(PropertyFailed) as failure:
        sweep(Judge())

    assert failure.value.law.id == "A1"
    assert failure.value.script.faults[-1].point == 3 * 37


def test_start_that_does_not_refuse_is_told() -> None:
    """As if a prompt could be prefilled onto another."""
    lie = Unreachable(
        "all of a prefill from one row", "", "PrefillRequiresEmpty", "done"
    )

    with pytest.raises(StrikesMissed, match="all of a prefill from one row: done, not"):
        require_complete(replace(WHOLE, unreachable=(lie,)))


def test_report_counts_and_stores_what_was_struck(decodes: Sweep) -> None:
    shown = io.StringIO()
    for table in tables(decodes):
        Console(file=shown, width=100).print(table)
    stored = json.loads(to_json(decodes))

    assert "│ scores                │     20 │" in shown.getvalue()
    assert "│ KeyboardInterrupt     │     94 │" in shown.getvalue()
    assert in_a_line(decodes).startswith(
        "380 faults struck, and each left what it must"
    )
    assert sum(len(each["points"]) for each in stored["faults"]) == 380
    names = "call", "start", "mode", "raises"
    groups = {tuple(map(each.get, names)): each for each in stored["faults"]}
    last = groups["decode", "middle", "once", "MemoryError"]
    assert last["points"][37] == [37, "commit", None, 2]


def test_stored_script_strikes_the_first_of_the_stored_points(decodes: Sweep) -> None:
    groups = json.loads(to_json(decodes))["faults"]
    seen = [Judge()(from_json(json.dumps(group["script"]))).seen for group in groups]
    met = [next(each.struck for each in calls if each.struck) for calls in seen]

    assert [[*each] for each in met] == [group["points"][0][1:] for group in groups]
