"""What a run reached, and whether that is enough.

A hunt that has ceased to reach something still passes: it has only looked at less. So
a run is counted in cells, and each maker of scripts has a floor for each of its cells.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product, starmap
from typing import Final, NamedTuple, TypeAlias

from rich.table import Table

from properties.graph import EDGES, FALLIBLE, KINDS, MOVES, UNREACHABLE, Edge, Move
from properties.judge import Verdict


class Outcome(NamedTuple):
    """A kind of call, and ``"done"`` or the class of the error that it ended with."""

    call: str
    outcome: str

    def __str__(self) -> str:
        return f"{self.call}: {self.outcome}"


class Pair(NamedTuple):
    """Two kinds of calls, one right after the other in a script."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first}, then {self.second}"


class Struck(NamedTuple):
    """A planned fault that ended a call, right after another such call or not."""

    call: str
    again: bool

    def __str__(self) -> str:
        return f"a fault in {'one more' if self.again else 'one'} {self.call}"


Cell: TypeAlias = Outcome | Pair | Struck | Edge | Move
"""No outcome is a kind of call, so no two cells of different kinds are equal."""

Floors: TypeAlias = Mapping[Cell, int]
"""By cell: how often a maker has to reach it, at least."""

OUTCOMES: Final = frozenset(Outcome(edge.call, edge.outcome) for edge in EDGES)
PAIRS: Final = frozenset(starmap(Pair, product(KINDS, repeat=2)))
STRUCK: Final = frozenset(starmap(Struck, product(FALLIBLE, (False, True))))
REACHABLE: Final[frozenset[Cell]] = OUTCOMES | PAIRS | STRUCK | EDGES | MOVES

WHY_UNREACHABLE: Final[Mapping[Cell, str]] = {
    Outcome(call, outcome): each.reason
    for each in UNREACHABLE
    for call in each.calls
    for outcome in each.outcomes
}

_RARE: Final = {Outcome("train", "NonFiniteUpdate"), Outcome("train", "StageFailed")}

CORPUS_FLOORS: Final[Floors] = dict.fromkeys(
    (*_RARE, *(Outcome(call, "StageFailed") for call in FALLIBLE)), 1
)
"""What takes weights at the edge of overflow: too rare in the machine to rest on.

There a prefill, a decode and a generation fail by themselves, and not by plan.
"""

RANDOM_FLOORS: Final[Floors] = {
    cell: 20 for cell in OUTCOMES | PAIRS | STRUCK | MOVES if cell not in _RARE
}
"""Every outcome, pair of calls, fault and move of a cache: as a random maker."""


class Census:
    """How often each cell was reached."""

    def __init__(self) -> None:
        self.counts = Counter[Cell]()

    def record(self, verdict: Verdict) -> None:
        """Count one run; no pair spans two of them."""
        kinds = [each.call.call for each in verdict.seen]
        self.counts.update(Pair(first, second) for first, second in pairwise(kinds))
        was_struck = False
        for kind, each in zip(kinds, verdict.seen, strict=True):
            self.counts[Outcome(kind, each.outcome)] += 1
            if each.struck is not None:
                self.counts[Struck(kind, was_struck)] += 1
            was_struck = each.struck is not None
            edge = Edge(each.before, kind, each.outcome, each.after)
            self.counts.update((edge, edge.move))

    def merge(self, other: "Census") -> None:
        """Count what another has counted, of a process of its own perhaps."""
        self.counts.update(other.counts)


class Line(NamedTuple):
    """One cell of a table: how often it was reached, how often it has to be, and why.

    Attributes:
        floor: 0 for a cell that may not be reached at all
        finding: ``"enough"``, or what is wrong
    """

    cell: Cell
    reached: int
    floor: int
    finding: str


ENOUGH: Final = "enough"


@dataclass(eq=False)
class FloorsMissed(AssertionError):
    """A maker reached a cell too seldom, or one that it cannot reach."""

    lines: tuple[Line, ...]

    def __str__(self) -> str:
        found = [
            f"{each.cell}: {each.finding} (reached {each.reached}, floor {each.floor})"
            for each in self.lines
        ]
        return "\n  ".join((f"{len(found)} cells are not as they must be:", *found))


def missed(census: Census, floors: Floors) -> tuple[Line, ...]:
    """The cells that are not as they must be."""
    return tuple(each for each in _lines(census, floors) if each.finding != ENOUGH)


def require(census: Census, floors: Floors) -> None:
    """Every floor is reached, and nothing that is unreachable or unknown.

    Raises:
        FloorsMissed: some cells are not as they must be, and these are they.
    """
    if lines := missed(census, floors):
        raise FloorsMissed(lines)


def table(census: Census, floors: Floors) -> Table:
    """Every cell with its count and floor, the lowest margin first."""
    shown = Table("cell", "finding", title="what was reached")
    for column in ("reached", "floor", "margin"):
        shown.add_column(column, justify="right")
    for each in _lines(census, floors):
        numbers = each.reached, each.floor, each.reached - each.floor
        shown.add_row(str(each.cell), each.finding, *map(str, numbers))
    return shown


def _lines(census: Census, floors: Floors) -> list[Line]:
    """What must not be reached, then the floors, the lowest margin first."""
    strangers = sorted(_strangers(census), key=lambda each: str(each.cell))
    floored = [
        Line(cell, count, floor, "below its floor" if count < floor else ENOUGH)
        for cell, floor in floors.items()
        for count in [census.counts[cell]]
    ]
    floored.sort(key=lambda each: (each.reached - each.floor, str(each.cell)))
    return [*strangers, *floored]


def _strangers(census: Census) -> Iterator[Line]:
    for cell, count in census.counts.items():
        if isinstance(cell, Edge) and Outcome(cell.call, cell.outcome) not in OUTCOMES:
            continue  # the outcome is a stranger itself, and says enough
        if cell not in REACHABLE:
            reason = WHY_UNREACHABLE.get(cell)
            finding = f"unreachable: {reason}" if reason else "unknown"
            yield Line(cell, count, 0, finding)
