"""What a fault sweep must strike: written down, and not met by running anything.

It names the stages by their enumeration, so one that no run reaches is missed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from engine import Stage
from properties.cells import CONFIG, n_cells
from properties.faults import NEWEST, UNSEEN, Sweep
from properties.points import Point
from properties.script import FAULTS

_OUTSIDE: Final = Stage.EMBEDDING, Stage.FINAL_NORM, Stage.LOGITS
_INSIDE: Final = [
    each for each in Stage if each not in {*_OUTSIDE, *UNSEEN, Stage.COMMIT}
]
_EVENTS: Final = "after a fault", "after a refusal", "second session"
_FROM_EMPTY: Final = "just bound", "just reset", *_EVENTS
_POSITIONS: Final[Mapping[str, int]] = {
    "one row": 1,
    "middle": 2,
    "one below full": 3,
    **dict.fromkeys(_EVENTS, 2),
}
"""Of the row that a decode adds, by start."""


def reachable() -> Iterator[tuple[str, str, Point]]:
    """Every call, start and point."""
    for start in _FROM_EMPTY:
        yield from (
            ("prefill", start, each)
            for each in _grid(range(NEWEST + 1), commits=[NEWEST])
        )
    for start, position in _POSITIONS.items():
        points = _grid([position], commits=[position])
        yield from (("decode", start, each) for each in points)
    for start in dict.fromkeys((*_FROM_EMPTY, *_POSITIONS, "full")):
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
        StrikesMissed: a point was struck too seldom, or one that is called unreachable.
    """
    due = dict.fromkeys(reachable(), n_cells(n_kinds))
    came = Counter(
        (strike.call, strike.start, strike.point) for strike in swept.strikes
    )
    missed = [
        f"{call} from {start}, {point}: {came[call, start, point]}, not {n}"
        for call, start, point in {**due, **came}
        for n in [due.get((call, start, point), 0)]
        if came[call, start, point] != n
    ]
    missed += [
        f"{each.what}: {each.came}, not {each.due}"
        for each in swept.unreachable
        if each.came != each.due
    ]
    if missed:
        raise StrikesMissed(tuple(missed))


@dataclass(eq=False)
class StrikesMissed(AssertionError):
    """A sweep that is called complete has not struck where it had to, or elsewhere."""

    missed: tuple[str, ...]

    def __str__(self) -> str:
        lines = "\n  ".join(self.missed[:20])
        return f"{len(self.missed)} faults are not as they must be:\n  {lines}"
