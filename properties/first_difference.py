"""The first number of a run that is beyond its bound: where a fault shows first."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeAlias

from engine import Stage
from properties.record import of_judge, of_script
from properties.recorded import Recorded
from properties.rehearsal import Rehearsal
from properties.replayed import Replayed
from properties.spots import CACHED, OF_KEYS, OF_TOKENS, Spot, spots

Came: TypeAlias = float | tuple[int, ...]
"""A number; or the shape of all, where not as many came as are due."""

_SHARED: Final = (Stage.KEY, Stage.VALUE, Stage.KEY_ROTATION, *CACHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDifference:
    """A number that is off by more than its bound, where nothing before it is.

    Attributes:
        call: among those of the script, or among those of the judge
        is_closing: whether it is the judge's
        block: none outside blocks
        stage: what made the number: a stage, or what was cached of it, or the answer
        position: of the row
        head: of the queries, or of keys and values; none outside heads
        element: for scores and weights the position of a key, for logits a token, else
            a feature; none if not as many came as are due
        due: the replay's
        came: the engine's; none if nothing came
        bound: how far they may be apart; none if they are no two numbers
    """

    call: int
    is_closing: bool
    block: int | None
    stage: str
    position: int
    head: int | None = None
    element: int | None = None
    due: Came
    came: Came | None
    bound: float | None = None

    def __str__(self) -> str:
        places = (
            ("judge's call" if self.is_closing else "call", self.call),
            ("block", self.block),
            (self.stage, ""),
            ("position", self.position),
            ("key/value head" if self.stage in _SHARED else "head", self.head),
            (_element(self.stage), self.element),
        )
        where = [f"{what} {at}".strip() for what, at in places if at is not None]
        came = "nothing came" if self.came is None else f"came {_shown(self.came)}"
        bound = "" if self.bound is None else f", bound {self.bound:.3g}"
        return f"{', '.join(where)}: due {_shown(self.due)}, {came}{bound}"


@dataclass(frozen=True, slots=True)
class NoDifference:
    """No number was found beyond its bound; ``why`` not."""

    why: str

    def __str__(self) -> str:
        return self.why


def first_difference(
    trial: Recorded, plan: Rehearsal, n_before: int
) -> FirstDifference | None:
    """Make a run up to one of its calls, and find the first number beyond its bound.

    Where none is too far from a replay, the first that is too far from the truth.

    Args:
        trial: not yet begun
        plan: its calls
        n_before: how many calls, the judge's among them, come before the last one
    """
    nearer = None
    for moment in islice(trial.moments(plan), n_before + 1):
        is_closing, values = moment.is_closing, trial.taken()
        call = len((of_judge if is_closing else of_script)(trial.record.made))
        found = _first(
            spots(moment, values, trial.oracle_of), call, is_closing=is_closing
        )
        if found is not None:
            return found
        if nearer is None:
            exact = spots(moment, values, trial.oracle_of, Replayed.in_truth)
            nearer = _first(exact, call, is_closing=is_closing)
    return nearer


def _first(
    all_spots: Iterator[Spot], call: int, *, is_closing: bool
) -> FirstDifference | None:
    differences = (_difference(spot, call, is_closing=is_closing) for spot in all_spots)
    return next((each for each in differences if each is not None), None)


def _difference(spot: Spot, call: int, *, is_closing: bool) -> FirstDifference | None:
    (stage, block), allowed, came = spot.place, spot.allowed, spot.came
    shape = allowed.due.shape
    found = FirstDifference(
        call=call,
        is_closing=is_closing,
        block=block,
        stage=stage,
        position=spot.position,
        due=shape,
        came=None if came is None else came.shape,
    )
    if came is None or came.size != allowed.due.size:
        return found
    came = came.reshape(shape)
    place = allowed.missed(came)
    if place is None:
        return None
    *head, element = place
    return replace(
        found,
        head=head[0] if head else None,
        element=element,
        due=float(allowed.due[place]),
        came=float(came[place]),
        bound=float(allowed.bound[place]),
    )


def _element(stage: str) -> str:
    if stage in OF_KEYS:
        return "key"
    return "token" if stage in OF_TOKENS else "feature"


def _shown(value: Came) -> str:
    return f"shape {value}" if isinstance(value, tuple) else f"{value}"
