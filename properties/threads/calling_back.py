"""A probe that calls back into its own session, at every stage and with every call.

What would enter the session, or change what it reads, is refused with the error that
says so; what only reads gives what it always gives. The call that was under way ends
as if nobody had asked, or fails of the refusal if the probe lets that out.
"""

from collections.abc import Mapping
from itertools import count, product
from secrets import randbelow, randbits
from typing import Final

from engine import (
    CacheInUse,
    EngineError,
    ParameterBorrowed,
    Probe,
    SessionBusy,
    Stage,
    StageFailed,
)
from engine.stages import Place
from properties.inconsistency import Inconsistent, require_alike
from properties.lives import CALLS, Life, Logical, held, logical, told

REFUSED: Final[Mapping[str, type[EngineError]]] = {
    **dict.fromkeys(("prefill", "decode", "reset", "fill spare", "close"), SessionBusy),
    "bind": CacheInUse,
    "step": ParameterBorrowed,
}
ALLOWED: Final = ("copy", "generate")
_OUTER: Final[Mapping[str, tuple[str, ...]]] = {
    "prefill": ("reset",),
    "decode": ("reset", "prefill"),
}
"""By call that is called back from: what comes before it."""


class Caller:
    """A probe that makes one call, at one of the places that it is called from."""

    def __init__(self, life: Life, place: int, call: str, *, lets_out: bool) -> None:
        self.met: Place | None = None
        self.came: object = None
        self._life = life
        self._place = place
        self._call = call
        self._lets_out = lets_out
        self._places = count()

    def __call__(self, stage: Stage, layer: int | None, *_: object) -> None:
        if next(self._places) != self._place:
            return
        self.met = (stage, layer)
        try:
            self.came = told(CALLS[self._call](self._life))
        except EngineError as refusal:
            self.came = refusal
            if self._lets_out:
                raise


class CalledBack:
    """A life whose probe makes calls on it."""

    def __init__(self) -> None:
        self._life = Life(randbits(64))
        self._drawn = self._life.rng.state
        self._weights = held(self._life.decoder)
        self._generation = self._answer("generate")
        self._due: dict[str, tuple[object, Logical]] = {}
        for call in _OUTER:
            self._arrange(call)
            self._due[call] = self._answer(call), logical(self._life.cache)

    def meet(self, outer: str, place: int, inner: str, *, lets_out: bool) -> bool:
        """Make a call whose probe makes another one at one of its places.

        Returns:
            Whether the call has so many places.
        """
        self._arrange(outer)
        before = logical(self._life.cache)
        caller = Caller(self._life, place, inner, lets_out=lets_out)
        self._watch(caller)
        if lets_out:
            self._fail(outer, caller)  # and then it is called again
        answer = self._answer(outer), logical(self._life.cache)
        require_alike(f"{outer} that was called from", self._due[outer], answer)
        require_alike("the weights", self._weights, held(self._life.decoder))
        if caller.met is None:
            return False
        where = f"{inner}, called back from {outer} at {caller.met}"
        if inner in REFUSED:
            require_alike(where, REFUSED[inner], type(caller.came))
        else:
            due = before if inner == "copy" else self._generation
            require_alike(where, due, caller.came)
        return True

    def _fail(self, outer: str, caller: Caller) -> None:
        """Make a call that fails of a refusal, and leaves what it found."""
        cache = self._life.cache
        before, bits = logical(cache), cache.snapshot()
        try:
            self._answer(outer)
        except StageFailed as failure:
            came = (failure.stage, failure.layer), failure.__cause__
            require_alike("a refusal let out", (caller.met, caller.came), came)
            require_alike("a failed call", before, logical(cache))
            if outer == "decode":
                require_alike("a failed decode", bits, cache.snapshot())
            return
        if caller.met is not None:
            raise Inconsistent(f"{outer} let nothing out at {caller.met}")
        self._arrange(outer)

    def _arrange(self, call: str) -> None:
        """Come to where the call begins, with nobody watching."""
        self._watch(None)
        for earlier in _OUTER[call]:
            CALLS[earlier](self._life)

    def _watch(self, probe: Probe | None) -> None:
        self._life.session.close()
        self._life.session = self._life.cache.bind(self._life.decoder, probe)

    def _answer(self, call: str) -> object:
        self._life.rng.state = self._drawn
        return told(CALLS[call](self._life))


def hunt_calls_back(stride: int) -> int:
    """Call back with every call from its places, and count the times.

    Args:
        stride: one place of so many, from a random one on; 1 is all

    Raises:
        Inconsistent: a call came through, or changed what it was called from.
    """
    called_back, n_calls = CalledBack(), 0
    ways = [*product(REFUSED, (False, True)), *product(ALLOWED, (False,))]
    for outer, (inner, lets_out) in product(_OUTER, ways):
        place = randbelow(stride)
        while called_back.meet(outer, place, inner, lets_out=lets_out):
            place += stride
            n_calls += 1
    return n_calls
