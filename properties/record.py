"""What is remembered of the calls that were judged and found right."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from properties.calls import Call
from properties.moment import Met, Moment
from properties.points import Point
from reference.session import CacheModel


class Seen(NamedTuple):
    """One call that was judged and found right.

    Attributes:
        call: what was called
        outcome: ``done``, or the class of the error that was due and came
        before: the cache in focus before the call, in a few words
        after: the same afterwards
        length: of its prefix afterwards
        error: the largest difference of logits, as a share of the bound
        struck: the point at which a planned fault ended it, if one did
        is_closing: whether the judge made it, and not the script
    """

    call: Call
    outcome: str
    before: str
    after: str
    length: int
    error: float
    struck: Point | None = None
    is_closing: bool = False


def of_script(made: Iterable[Seen]) -> tuple[Seen, ...]:
    """The script's own calls."""
    return tuple(each for each in made if not each.is_closing)


def of_judge(made: Iterable[Seen]) -> tuple[Seen, ...]:
    """The judge's calls."""
    return tuple(each for each in made if each.is_closing)


class Record:
    """A run as it went.

    Attributes:
        made: the calls so far, the judge's own among them
        n_unsure: generations that rounding may have ended otherwise
    """

    def __init__(self) -> None:
        self.made = list[Seen]()
        self.n_unsure = 0
        self._digest = hashlib.sha256()

    @property
    def digest(self) -> str:
        """Of every outcome and every bit that was answered."""
        return self._digest.hexdigest()

    def add(self, moment: Moment, before: str) -> None:
        """Remember a call."""
        kept, due, error = moment.kept, moment.generation, 0.0
        if moment.met is Met.LOGITS:
            error = moment.error
            self._digest.update(moment.bits)
        outcome = "done" if moment.due is None else type(moment.due).__name__
        seen = Seen(
            call=moment.call,
            outcome=outcome,
            before=before,
            after=state_of(kept),
            length=kept.length,
            error=error,
            struck=moment.struck,
            is_closing=moment.is_closing,
        )
        self.made.append(seen)
        self._digest.update(f"{outcome} {kept.length}".encode())
        if due is not None:
            self.n_unsure += not due.is_sure
            self._digest.update(repr(moment.answer.generation).encode())


def state_of(kept: CacheModel) -> str:
    """A cache in a few words: how full it is, and what is open on it."""
    if kept.is_stale:
        return "stale"  # nothing can be done to it any more, however full it is
    filled = {0: "empty", kept.config.capacity: "full"}.get(kept.length, "prefilled")
    return f"{filled} bound" if kept.is_bound else f"{filled} unbound"
