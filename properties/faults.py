"""Every fault at every point of every call, from every start: complete, cell by cell.

SQLite's loop: the first point fails, then the second, until the call succeeds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
    once,
    starts,
)
from properties.graph import DONE
from properties.judge import Verdict
from properties.points import Fallible, Point
from properties.script import FAULTS, Fault, FaultKind, Script

UNSEEN: Final = Stage.LOSS, Stage.GRADIENT
"""Stages that no probe is told of."""
NEWEST: Final = 2
"""Position of the last row that is prefilled."""

Judged: TypeAlias = Callable[[Script], Verdict]
Chosen: TypeAlias = Callable[[int], Iterable[FaultKind]]
Attempts: TypeAlias = Sequence[tuple[Fallible, Start]]
Going: TypeAlias = Callable[[Attempts], Iterable[tuple[Fallible, Start]]]


class Strike(NamedTuple):
    """One fault that struck: in which call, from where, how, and at which point.

    Attributes:
        number: of the point in its call, as a script has it
    """

    call: str
    start: str
    mode: str
    raises: FaultKind
    number: int
    point: Point


class Unreachable(NamedTuple):
    """Cells that cannot be, and what shows it.

    Attributes:
        what: in words
        reason: why not
        due: what a call must meet instead when a fault is planned there
        came: what it met
    """

    what: str
    reason: str
    due: str
    came: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What was swept; every strike left what it must, or the judge had raised.

    Attributes:
        strikes: in the order in which they were judged
        unreachable: what was tried in vain
    """

    strikes: tuple[Strike, ...]
    unreachable: tuple[Unreachable, ...]
    seconds: float


def every(_number: int) -> Iterable[FaultKind]:
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
    strikes, refused = list[Strike](), list[Unreachable]()
    attempts = [(fallible, start) for fallible in CALLS for start in starts(fallible)]
    for call, start in going(attempts):
        if start.refusal:
            refused.append(_refused(judge, start, call))
        else:
            strikes.extend(_struck(judge, start, call, chosen))
    return Sweep(
        strikes=tuple(strikes),
        unreachable=(*refused, _early_commit(strikes), *_unseen(judge)),
        seconds=perf_counter() - began,
    )


def _struck(
    judge: Judged, start: Start, call: Fallible, chosen: Chosen
) -> Iterator[Strike]:
    """Fail every point of one call from one start, until it succeeds.

    Once comes first, so that what one fault can break is not blamed on two.
    """
    index = len(start.calls)
    for mode in MODES:
        kinds = chosen if mode.has_every_kind else one_from(0)
        for raises, number in _until_it_succeeds(kinds):
            fault = Fault(call=index, point=number, raises=raises)
            point = judge(mode.scripted(start, call, fault)).seen[index].struck
            if point is None:
                break
            yield Strike(call.call, start.name, mode.name, raises, number, point)


def _until_it_succeeds(kinds: Chosen) -> Iterator[tuple[FaultKind, int]]:
    return ((raises, number) for number in count() for raises in kinds(number))


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


def _early_commit(strikes: Iterable[Strike]) -> Unreachable:
    """A prompt is committed once, with its newest row."""
    committed = {
        str(strike.point.position)
        for strike in strikes
        if strike.call == "prefill" and strike.point.stage is Stage.COMMIT
    }
    return Unreachable(
        "commit of the first or a middle row of a prefill",
        "a prompt is committed once, at its newest position",
        str(NEWEST),
        ", ".join(sorted(committed)),
    )


def _unseen(judge: Judged) -> Iterator[Unreachable]:
    """A loss is of no session, so no probe is called."""
    fault = Fault(call=1, point=0, raises="Exception", persists=True)
    calls = Close(), Train(tokens=(0, 1), targets=(1, 2))
    script = Script(config=CONFIG, weights=WEIGHTS, calls=calls, faults=(fault,))
    seen = judge(script).seen[1]
    for stage in UNSEEN:
        reason = "a loss is of no session, so it has no probe"
        yield Unreachable(f"{stage} of a train", reason, DONE, seen.outcome)
