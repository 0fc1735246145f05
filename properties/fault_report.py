"""A fault sweep on paper: a matrix a call, and all of it as JSON."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Final

from rich.table import Table

from properties.faults import Cell, Sweep

_DIMENSIONS: Final[tuple[Callable[[Cell], str], ...]] = (
    lambda cell: cell.point.stage,
    lambda cell: cell.start,
    lambda cell: cell.mode,
    lambda cell: cell.raises,
)


def tables(swept: Sweep) -> Iterator[Table]:
    """How many faults struck in each call, one way and another; then what cannot be."""
    yield _matrix(swept)
    yield _unreachable(swept)


def in_a_line(swept: Sweep) -> str:
    """What was swept, and how fast."""
    n_cells = len(swept.cells)
    return (
        f"{n_cells} faults struck, and each left what it must: {swept.seconds:.1f} s, "
        f"{n_cells / swept.seconds:.0f} a second\n"
    )


def to_json(swept: Sweep) -> str:
    """Points as stage, block and position, by call, start, mode and what is raised."""
    faults = [
        {**dict(zip(Cell._fields, group, strict=False)), "points": [*points]}
        for group, points in _grouped(swept)
    ]
    unreachable = [each._asdict() for each in swept.unreachable]
    record = {"seconds": swept.seconds, "faults": faults, "unreachable": unreachable}
    return json.dumps(record, indent=1)


def _grouped(swept: Sweep) -> Iterator[tuple[tuple[str, ...], Iterator[object]]]:
    ordered = sorted(swept.cells, key=lambda cell: cell[:-1])
    for group, cells in groupby(ordered, key=lambda cell: cell[:-1]):
        yield group, (cell.point for cell in cells)


def _matrix(swept: Sweep) -> Table:
    """Each column is counted by stage, by start, by mode, and by what was raised."""
    calls = dict.fromkeys(cell.call for cell in swept.cells)
    shown = Table("", *calls, title="faults that struck")
    for column in shown.columns[1:]:
        column.justify = "right"
    for dimension in _DIMENSIONS:
        counts = Counter((dimension(cell), cell.call) for cell in swept.cells)
        for value in dict.fromkeys(dimension(cell) for cell in swept.cells):
            numbers = (counts[value, call] for call in calls)
            shown.add_row(value, *(str(each or "-") for each in numbers))
        shown.add_section()
    totals = Counter(cell.call for cell in swept.cells)
    shown.add_row("all", *(str(totals[call]) for call in calls))
    return shown


def _unreachable(swept: Sweep) -> Table:
    shown = Table("what", "why not", "came", title="what no fault can strike")
    for each in swept.unreachable:
        shown.add_row(each.cells, each.reason, each.came)
    return shown
