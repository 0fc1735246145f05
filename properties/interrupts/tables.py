"""What a sweep found, for a terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from properties.interrupts.sweep import Swept


def swept_table(swept: Sequence[Swept]) -> Table:
    """A line a call, whatever was raised: its boundaries, and what it had done."""
    table = Table(title="interrupted calls", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("call", no_wrap=True)
    for column in ("boundaries", "struck", "had happened", "in libraries"):
        table.add_column(column, justify="right")
    for name in dict.fromkeys(each.name for each in swept):
        same = [each for each in swept if each.name == name]
        numbers = (
            same[0].engine.n_boundaries,
            sum(each.engine.n_swept for each in same),
            sum(each.engine.n_after for each in same),
            sum(each.libraries.n_swept for each in same),
        )
        table.add_row(name, *(f"{number:,}" for number in numbers))
    return table


def verdict(swept: Sequence[Swept]) -> str:
    """One line on everything that was swept, none of which was half done."""
    calls = {each.name: each for each in swept}.values()
    total = sum(each.engine.n_boundaries for each in calls)
    engine = sum(each.engine.n_swept for each in swept)
    libraries = sum(each.libraries.n_swept for each in swept)
    seconds = sum(each.seconds for each in swept)
    return (
        f"A3 holds. Calls: {len(calls)}, with {total:,} boundaries inside the engine; "
        f"{engine:,} interrupts there and {libraries:,} inside libraries, none of "
        f"which left anything half done; {seconds:.1f} s"
    )
