"""What a sweep found, for a terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from properties.interrupts.sweep import Swept, Tally


def swept_table(swept: Sequence[Swept]) -> Table:
    """A line a call and kind of interrupt: its boundaries, and what it left."""
    table = Table(title="interrupted calls", title_justify="left", box=SIMPLE_HEAD)
    for column in ("call", "raised"):
        table.add_column(column)
    for column in ("boundaries", "swept", "before", "after"):
        table.add_column(column, justify="right")
    for column in ("in libraries", "swept", "seconds"):
        table.add_column(column, justify="right")
    for each in swept:
        engine, libraries = each.engine, each.libraries
        numbers = (*_found(engine), libraries.n_boundaries, libraries.n_swept)
        shown = (f"{number:,}" for number in numbers)
        table.add_row(each.name, each.raises, *shown, f"{each.seconds:.1f}")
    return table


def verdict(swept: Sequence[Swept]) -> str:
    """One line on everything that was swept, none of which was half done."""
    calls = {each.name: each for each in swept}.values()
    total = sum(each.engine.n_boundaries for each in calls)
    engine = sum(each.engine.n_swept for each in swept)
    libraries = sum(each.libraries.n_swept for each in swept)
    seconds = sum(each.seconds for each in swept)
    return (
        f"A3 holds: {len(calls)} calls with {total:,} boundaries inside the engine; "
        f"{engine:,} interrupts there and {libraries:,} inside libraries, none of "
        f"which left anything half done; {seconds:.1f} s"
    )


def _found(tally: Tally) -> tuple[int, int, int, int]:
    return tally.n_boundaries, tally.n_swept, tally.n_before, tally.n_after
