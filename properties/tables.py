"""Tables for a terminal."""

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.table import Table

from properties.record import Seen


def calls_table(seen: Iterable[Seen], title: str) -> Table:
    """A line a call: what it was answered, and what it left of the cache in focus."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for column in ("call", "answer", "cache"):
        table.add_column(column, overflow="fold")
    for column in ("length", "error/bound"):
        table.add_column(column, justify="right", overflow="fold")
    for each in seen:
        error = f"{each.error:.0e}" if each.error else ""
        length = str(each.length)
        fault = f" by plan at {each.struck}" if each.struck else ""
        answer = each.outcome + fault
        table.add_row(repr(each.call), answer, each.after, length, error)
    return table
