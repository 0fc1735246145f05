"""Real kills: a process that is killed while it saves leaves the old file or the new.

``SIGKILL`` gives nobody the time to tidy up: what a save had written beside the file
stays there, one file at most, whose name says what it is.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from properties.children import child

_CHILD: Final = ("-m", "properties.savers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """Kills that left a whole file each.

    Attributes:
        kills: all of them
        old: those inside a save that left the file from before it
        new: those inside a save that left the file that it wrote
        leftovers: partial files beside it, which nobody has removed
        seconds: for all of it, the start of the child included
    """

    kills: int
    old: int
    new: int
    leftovers: int
    seconds: float

    @property
    def inside(self) -> int:
        """Those that landed inside a save."""
        return self.old + self.new


def hunt_kills(n_kills: int, program: Sequence[str] = _CHILD) -> Killed:
    """Kill savers until so many were inside a save.

    Args:
        n_kills: to land inside, at least
        program: arguments of the interpreter that make it the child

    Raises:
        Inconsistent: a kill left neither file, with the child's complaint; or too few
            land inside.
    """
    began = perf_counter()
    with (
        TemporaryDirectory() as folder,
        child([*program, folder, str(n_kills)]) as killing,
    ):
        counts = Counter[str](json.loads(killing.line()))
    return Killed(
        kills=counts["kills"],
        old=counts["old"],
        new=counts["new"],
        leftovers=counts["leftovers"],
        seconds=perf_counter() - began,
    )


def kills_table(killed: Killed) -> Table:
    """What the kills left."""
    title = f"kills of a process that saves, in {killed.seconds:.1f} s"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("the kill")
    table.add_column("times", justify="right")
    table.add_row("inside a save, left the old file", f"{killed.old:,}")
    table.add_row("inside a save, left the new file", f"{killed.new:,}")
    table.add_row("outside", f"{killed.kills - killed.inside:,}", end_section=True)
    table.add_row("all", f"{killed.kills:,}")
    table.add_row("left a partial file beside it", f"{killed.leftovers:,}")
    return table
