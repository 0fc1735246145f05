"""Every stage up to the edge of overflow, and beyond it: complete, power by power.

What a script must be answered is known from how it was made: which stage grows in it,
and how far that is from its edge. The judge knows it from a replay, and both must hold.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import Final, NamedTuple, TypeAlias, get_args

from rich.box import SIMPLE_HEAD
from rich.table import Table

from engine import StageFailed
from engine.arrays import DType
from engine.stages import Place, row_places
from properties.aims import UNREACHABLE
from properties.built_in import BuiltIn
from properties.drawn import initial_weights
from properties.judge import Verdict
from properties.oracle import Oracle
from properties.scaled import N_LAYERS, N_PROMPT, Scaled, Zone
from properties.script import Script, to_json
from properties.subject import Make

Judged: TypeAlias = Callable[[Script], Verdict]

REACHABLE: Final = [
    (stage, layer) for stage, layer in row_places(N_LAYERS) if stage not in UNREACHABLE
]
"""The places that have to fail, in each dtype."""


class Failing(NamedTuple):
    """A call of the script, by number, and the stage and block at which it failed."""

    call: int
    place: Place


class Tried(NamedTuple):
    """What ended a script, if anything did: on the engine, and on its replay."""

    scaled: Scaled
    came: Failing | None
    due: Failing | None

    @property
    def is_alike(self) -> bool:
        """Whether both were ended alike, so that the judge need not follow one."""
        return self.came == self.due


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleSweep:
    """What was swept; every failure was where the weights make it be."""

    tried: tuple[Tried, ...]
    seconds: float


@dataclass(eq=False)
class Misplaced(AssertionError):
    """A script failed elsewhere than its weights make it fail, or did not fail.

    Attributes:
        who: whose answer this is
    """

    who: str
    scaled: Scaled
    failing: Failing | None

    def __str__(self) -> str:
        due = sorted(map(str, self.scaled.places))
        return (
            f"{self.who}, {self.scaled.zone}, {self.scaled.aim}\n"
            f"  due    {' or '.join(due)}\n  came   {self.failing}\n"
            f"{to_json(self.scaled.script)}"
        )


def sweep(judge: Judged, scripts: Iterable[Scaled], make: Make = BuiltIn) -> ScaleSweep:
    """Judge every script, and see where it failed.

    Args:
        judge: runs one script; what it raises comes out
        scripts: those to try
        make: the engine that the judge has

    Raises:
        Misplaced: an answer is none that the weights of its script can have.
    """
    began = perf_counter()
    tried = tuple(_tried(judge, each, make) for each in scripts)
    return ScaleSweep(tried=tried, seconds=perf_counter() - began)


def _tried(judge: Judged, scaled: Scaled, make: Make) -> Tried:
    judge(scaled.script)
    tried = Tried(scaled, _on_engine(scaled, make), _on_replay(scaled, make))
    for who, failing in (("the engine", tried.came), ("the replay", tried.due)):
        if (failing and failing.place) not in scaled.places:
            raise Misplaced(who, scaled, failing)
    return tried


def _on_engine(scaled: Scaled, make: Make) -> Failing | None:
    script = scaled.script
    weights = initial_weights(script.config, script.weights)
    subject = make(script.config, weights, script.optimizer)
    for number, call in enumerate(script.calls):
        try:
            subject.perform(call)
        except StageFailed as failure:
            return Failing(number, (failure.stage, failure.layer))
    return None


def _on_replay(scaled: Scaled, make: Make) -> Failing | None:
    script, history = scaled.script, scaled.history
    weights = initial_weights(script.config, script.weights)
    failing = Oracle(make, script.config, weights).failing(history, history)
    if failing is None:
        return None
    position, failure = failing
    call = max(position + 1 - N_PROMPT, 0)
    return Failing(call, (failure.stage, failure.layer))


@dataclass(eq=False)
class ScalesMissed(AssertionError):
    """A sweep that is called complete has not met every failure that there is."""

    missed: tuple[str, ...]

    def __str__(self) -> str:
        return "\n  ".join((f"{len(self.missed)} were not met:", *self.missed))


def require_complete(swept: ScaleSweep) -> None:
    """Every place that can fail did so, in both dtypes and on both sides.

    Raises:
        ScalesMissed: these did not.
    """
    met = {
        (who, each.scaled.script.config.dtype, failing.place)
        for each in swept.tried
        for who, failing in (("engine", each.came), ("replay", each.due))
        if failing is not None
    }
    due = product(("engine", "replay"), get_args(DType), REACHABLE)
    missed = [" ".join(map(str, each)) for each in due if each not in met]
    if missed:
        raise ScalesMissed(tuple(missed))


def scale_table(swept: ScaleSweep) -> Table:
    """By the stage that was aimed at: how many scripts, and how they ended."""
    title = "scripts by the stage that they aim at"
    shown = Table("stage", title=title, title_justify="left", box=SIMPLE_HEAD)
    counts = Counter(
        (each.scaled.aim.place[0], column)
        for each in swept.tried
        for column in _columns(each)
    )
    for column in _COLUMNS:
        shown.add_column(column, justify="right")
    for stage in dict.fromkeys(each.scaled.aim.place[0] for each in swept.tried):
        shown.add_row(stage, *(str(counts[stage, column]) for column in _COLUMNS))
    return shown


_ENGINE, _REPLAY, _ELSEWHERE = "engine alone", "replay alone", "elsewhere"
_COLUMNS: Final = (*Zone, _ENGINE, _REPLAY, _ELSEWHERE)


def _columns(tried: Tried) -> Iterator[str]:
    yield tried.scaled.zone
    if tried.is_alike:
        return
    if tried.due is None:
        yield _ENGINE
    elif tried.came is None:
        yield _REPLAY
    else:
        yield _ELSEWHERE
