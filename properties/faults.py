"""Every fault at every point of every call, from every start: complete, cell by cell.

SQLite's loop: the first point fails, then the second, until the call succeeds.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from time import perf_counter
from typing import Final, NamedTuple, TypeAlias

from engine import Stage
from properties.calls import Close, Train
from properties.cells import (
    CALLS,
    CONFIG,
    MODES,
    WEIGHTS,
    Start,
    n_cells,
    once,
    starts,
)
from properties.graph import DONE
from properties.judge import Verdict
from properties.points import Fallible, Point
from properties.script import FAULTS, Fault, Raised, Script

Judged: TypeAlias = Callable[[Script], Verdict]
Chosen: TypeAlias = Callable[[int], Iterable[Raised]]
Attempts: TypeAlias = Sequence[tuple[Fallible, Start]]
Going: TypeAlias = Callable[[Attempts], Iterable[tuple[Fallible, Start]]]


class Cell(NamedTuple):
    """One fault that struck: in which call, from where, how, and at which point."""

    call: str
    start: str
    mode: str
    raises: Raised
    point: Point


class Unreachable(NamedTuple):
    """Cells that cannot be, and what shows it.

    Attributes:
        cells: in words
        reason: why not
        due: what a call must meet instead when a fault is planned there
        came: what it met
    """

    cells: str
    reason: str
    due: str
    came: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What was swept; every cell left what it must, or the judge had raised.

    Attributes:
        cells: in the order in which they were judged
        unreachable: what was tried in vain
    """

    cells: tuple[Cell, ...]
    unreachable: tuple[Unreachable, ...]
    seconds: float


@dataclass(eq=False)
class CellsMissed(AssertionError):
    """A sweep that is called complete has not struck where it had to, or elsewhere."""

    missed: tuple[str, ...]

    def __str__(self) -> str:
        lines = "\n  ".join(self.missed[:20])
        return f"{len(self.missed)} faults are not as they must be:\n  {lines}"


def every(_number: int) -> Iterable[Raised]:
    """Raise everything that there is at each point."""
    return FAULTS


def one_from(offset: int) -> Chosen:
    """Raise one thing at each point, and others at its neighbours."""
    return lambda number: [FAULTS[(number + offset) % len(FAULTS)]]


def sweep(judge: Judged, chosen: Chosen = every, going: Going = iter) -> Sweep:
    """Fail every point of every call from every start.

    Args:
        judge: runs one script; what it raises comes out
        chosen: what is raised, by the number of each point
        going: gives one call and start after the other, and may show how far it is
    """
    began = perf_counter()
    cells, refused = list[Cell](), list[Unreachable]()
    attempts = [(fallible, start) for fallible in CALLS for start in starts(fallible)]
    for call, start in going(attempts):
        if start.refusal:
            refused.append(_refused(judge, start, call))
        else:
            cells.extend(_struck(judge, start, call, chosen))
    return Sweep(
        cells=tuple(cells),
        unreachable=(*refused, _early_commit(cells), *_unseen(judge)),
        seconds=perf_counter() - began,
    )


def _struck(
    judge: Judged, start: Start, call: Fallible, chosen: Chosen
) -> Iterator[Cell]:
    """Fail every point of one call from one start, until it succeeds."""
    index = len(start.calls)
    for number in count():
        for mode in MODES:
            kinds = chosen if mode.has_every_kind else one_from(0)
            for raises in kinds(number):
                fault = Fault(call=index, point=number, raises=raises)
                script = mode.scripted(start, call, fault)
                point = judge(script).seen[index].struck
                if point is None:
                    return
                yield Cell(call.call, start.name, mode.name, raises, point)


def _refused(judge: Judged, start: Start, call: Fallible) -> Unreachable:
    """The call is refused from there, whatever is planned for its first point."""
    index = len(start.calls)
    script = once(start, call, Fault(call=index, point=0, raises="Exception"))
    seen = judge(script).seen[index]
    return Unreachable(
        f"all of a {call.call} from {start.name}",
        "the refusal comes first",
        start.refusal,
        seen.outcome,
    )


def _early_commit(cells: Iterable[Cell]) -> Unreachable:
    """A prompt is committed once, with its newest row."""
    committed = {
        str(cell.point.position)
        for cell in cells
        if cell.call == "prefill" and cell.point.stage is Stage.COMMIT
    }
    cells_of = "commit of the first or a middle row of a prefill"
    reason = "a prompt is committed once, at its newest position"
    return Unreachable(cells_of, reason, "2", ", ".join(sorted(committed)))


def _unseen(judge: Judged) -> Iterator[Unreachable]:
    """A loss is of no session, so no probe is called."""
    fault = Fault(call=1, point=0, raises="Exception", persists=True)
    calls = Close(), Train(tokens=(0, 1), targets=(1, 2))
    script = Script(config=CONFIG, weights=WEIGHTS, calls=calls, faults=(fault,))
    seen = judge(script).seen[1]
    for stage in _UNSEEN:
        reason = "a loss is of no session, so it has no probe"
        yield Unreachable(f"{stage} of a train", reason, DONE, seen.outcome)


_OUTSIDE: Final = Stage.EMBEDDING, Stage.FINAL_NORM, Stage.LOGITS
_UNSEEN: Final = Stage.LOSS, Stage.GRADIENT
_INSIDE: Final = [
    each for each in Stage if each not in {*_OUTSIDE, *_UNSEEN, Stage.COMMIT}
]
_EVENTS: Final = "after a fault", "after a refusal", "second session"
_EMPTY: Final = "just bound", "just reset", *_EVENTS
_POSITIONS: Final[Mapping[str, int]] = {
    "one row": 1,
    "middle": 2,
    "one below full": 3,
    **dict.fromkeys(_EVENTS, 2),
}
"""Of the row that a decode adds, by start."""


def reachable() -> Iterator[tuple[str, str, Point]]:
    """Every call, start and point that a sweep must strike: written down, not met."""
    for start in _EMPTY:
        yield from (("prefill", start, each) for each in _grid(range(3), commits=[2]))
    for start, position in _POSITIONS.items():
        points = _grid([position], commits=[position])
        yield from (("decode", start, each) for each in points)
    for start in dict.fromkeys((*_EMPTY, *_POSITIONS, "full")):
        yield from (("generate", start, each) for each in _grid([0, 1], commits=[0, 1]))


def _grid(rows: Iterable[int], commits: Iterable[int]) -> Iterator[Point]:
    """Every stage of every block of these rows, and a commit at those."""
    for position in rows:
        yield from (Point(stage, None, position) for stage in _OUTSIDE)
        for layer in range(CONFIG.n_layers):
            yield from (Point(stage, layer, position) for stage in _INSIDE)
    yield from (Point(Stage.COMMIT, None, position) for position in commits)


def require_complete(swept: Sweep, n_kinds: int = len(FAULTS)) -> None:
    """Every stage of every block of every row was struck, as often as it had to be.

    Args:
        swept: what was struck
        n_kinds: how many things were raised at each point, in a mode that has them all

    Raises:
        CellsMissed: a point was struck too seldom, or one that is called unreachable.
    """
    due = dict.fromkeys(reachable(), n_cells(n_kinds))
    came = Counter((cell.call, cell.start, cell.point) for cell in swept.cells)
    missed = [
        f"{call} from {start}, {point}: {came[call, start, point]}, not {n}"
        for call, start, point in {**due, **came}
        for n in [due.get((call, start, point), 0)]
        if came[call, start, point] != n
    ]
    missed += [
        f"{each.cells}: {each.came}, not {each.due}"
        for each in swept.unreachable
        if each.came != each.due
    ]
    if missed:
        raise CellsMissed(tuple(missed))
