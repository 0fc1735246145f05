"""Tables for a terminal."""

from collections.abc import Iterable

from rich.table import Table

from properties.record import Seen


def calls_table(seen: Iterable[Seen], title: str) -> Table:
    """A line a call: what it was answered, and what it left of the cache in focus."""
    table = Table("call", "answer", "cache", title=title, title_justify="left")
    table.add_column("length", justify="right")
    table.add_column("error / bound", justify="right")
    for each in seen:
        error = f"{each.error:.1e}" if each.error else ""
        table.add_row(
            repr(each.call), each.outcome, each.after, str(each.length), error
        )
    return table
