"""A fault sweep on paper: a matrix, and all of it as JSON."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Final

from rich.table import Table

from properties.cells import CALLS, MODES, starts
from properties.faults import Strike, Sweep
from properties.script import Fault, to_json as script_to_json

_DIMENSIONS: Final[tuple[Callable[[Strike], str], ...]] = (
    lambda strike: strike.point.stage,
    lambda strike: strike.start,
    lambda strike: strike.mode,
    lambda strike: strike.raises,
)


def tables(swept: Sweep) -> Iterator[Table]:
    """How many faults struck in each call, one way and another; then what cannot be."""
    yield _matrix(swept)
    yield _unreachable(swept)


def in_a_line(swept: Sweep) -> str:
    """What was swept, and how fast."""
    n_strikes = len(swept.strikes)
    return (
        f"{n_strikes} faults struck, and each left what it must: "
        f"{swept.seconds:.1f} s, {n_strikes / swept.seconds:.0f} a second\n"
    )


def to_json(swept: Sweep) -> str:
    """A line for each call, start, mode and what is raised.

    It has the points that were struck, each as its number in the call, stage, block and
    position, and the script that strikes the first of them.
    """
    groups = groupby(sorted(swept.strikes, key=_group), key=_group)
    faults = ",\n".join(
        json.dumps(
            {
                **dict(zip(Strike._fields, group, strict=False)),
                "script": _script(first),
                "points": [[each.number, *each.point] for each in (first, *rest)],
            }
        )
        for group, (first, *rest) in groups
    )
    unreachable = json.dumps([each._asdict() for each in swept.unreachable])
    return (
        f'{{"version": 1, "seconds": {swept.seconds:.3f}, "faults": [\n{faults}],\n'
        f'"unreachable": {unreachable}}}\n'
    )


def _group(strike: Strike) -> tuple[str, str, str, str]:
    return strike[:4]


def _script(strike: Strike) -> object:
    """The script of one cell."""
    call = next(each for each in CALLS if each.call == strike.call)
    start = next(each for each in starts(call) if each.name == strike.start)
    mode = next(each for each in MODES if each.name == strike.mode)
    index, number = len(start.calls), strike.number
    fault = Fault(call=index, point=number, raises=strike.raises)
    script: object = json.loads(script_to_json(mode.scripted(start, call, fault)))
    return script


def _matrix(swept: Sweep) -> Table:
    """Each column is counted by stage, by start, by mode, and by what was raised."""
    calls = dict.fromkeys(strike.call for strike in swept.strikes)
    shown = Table("", *calls, title="faults that struck")
    for column in shown.columns[1:]:
        column.justify = "right"
    for dimension in _DIMENSIONS:
        counts = Counter((dimension(strike), strike.call) for strike in swept.strikes)
        for value in dict.fromkeys(dimension(strike) for strike in swept.strikes):
            numbers = (counts[value, call] for call in calls)
            shown.add_row(value, *(str(each or "-") for each in numbers))
        shown.add_section()
    totals = Counter(strike.call for strike in swept.strikes)
    shown.add_row("all", *(str(totals[call]) for call in calls))
    return shown


def _unreachable(swept: Sweep) -> Table:
    shown = Table("what", "why not", "came", title="what no fault can strike")
    for each in swept.unreachable:
        shown.add_row(each.what, each.reason, each.came)
    return shown
