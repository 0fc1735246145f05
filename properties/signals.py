"""Real signals: a session that is interrupted thousands of times, by another process.

The parent sends each ``SIGINT`` after a random time, once the child has asked for it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from secrets import randbelow
from time import perf_counter, sleep
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from properties.children import child
from properties.lives import CALLS
from properties.under_signals import READY

_CHILD: Final = ("-m", "properties.under_signals")
_MOST_MICROSECONDS: Final = 2_000  # about as long as the child takes for all its calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Signalled:
    """Signals that left nothing in between.

    Attributes:
        delivered: all of them
        by_call: those that landed inside the engine, by the call that they interrupted
        seconds: for all of it, the start of the child included
    """

    delivered: int
    by_call: Mapping[str, int]
    seconds: float

    @property
    def inside(self) -> int:
        """Those that landed inside a call."""
        return sum(self.by_call.values())

    @property
    def outside(self) -> int:
        """Those that landed before, after or between calls."""
        return self.delivered - self.inside


def hunt_signals(n_signals: int, program: Sequence[str] = _CHILD) -> Signalled:
    """Interrupt a child until so many signals have landed inside a call.

    Args:
        n_signals: to land inside, at least
        program: arguments of the interpreter that make it the child

    Raises:
        Inconsistent: a signal left something in between, with the child's complaint;
            or too few land inside.
    """
    began, delivered = perf_counter(), 0
    with child([*program, str(n_signals)]) as living:
        while (line := living.line()) == READY:
            sleep(randbelow(_MOST_MICROSECONDS) / 1e6)
            living.interrupt()
            delivered += 1
    outside, inside = json.loads(line)
    assert delivered == outside + sum(inside.values())
    by_call = {call: inside.get(call, 0) for call in CALLS}
    return Signalled(
        delivered=delivered, by_call=by_call, seconds=perf_counter() - began
    )


def signals_table(signalled: Signalled) -> Table:
    """A line a call, then those outside, then all."""
    title = f"signals, in {signalled.seconds:.1f} s"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("landed in")
    table.add_column("signals", justify="right")
    for call, count in signalled.by_call.items():
        table.add_row(call, f"{count:,}")
    table.add_row("no call", f"{signalled.outside:,}", end_section=True)
    table.add_row("all", f"{signalled.delivered:,}")
    return table
