"""Whether calls that ran at once gave what the same calls give one after another.

Some order of them must explain every answer and what was left, and keep to the order
of those that did not overlap. One thread alone tells what an order gives: a copy of the
cache makes the calls, so that the search can go back.
"""

from collections.abc import Callable, Sequence
from copy import copy
from itertools import count
from typing import NamedTuple

from engine import CacheInUse, Decoder, DecoderSession, EngineError, KVCache
from properties.lives import Logical, logical, told


class Move(NamedTuple):
    """A call on a session, and what to call it."""

    name: str
    make: Callable[[DecoderSession], object]
    closes: bool = False


class Made(NamedTuple):
    """A move that was made.

    ``begun`` and ``ended`` count events of all threads, not time: what ended before
    another began came first.
    """

    move: Move
    came: object
    begun: int
    ended: int

    def __str__(self) -> str:
        match self.came:
            case (bytes(), _, int() as length, _):
                came = f"length {length}"
            case (type() as refusal, _):
                came = refusal.__name__
            case _:
                came = "done"
        return f"{self.begun} to {self.ended}, {self.move.name}: {came}"

    def overlaps(self, other: "Made") -> bool:
        """Whether neither had ended when the other began."""
        return self.begun < other.ended and other.begun < self.ended


class Left(NamedTuple):
    """What moves left of a cache, and whether its session is open."""

    cache: Logical
    is_open: bool


def made(move: Move, session: DecoderSession, ticks: "count[int]") -> Made:
    """Make a move."""
    begun = next(ticks)
    came = _answer(move, session)
    return Made(move, came, begun, next(ticks))


def left_of(cache: KVCache, decoder: Decoder) -> Left:
    """What is left of a cache that nobody uses at this moment."""
    try:
        cache.bind(decoder).close()
    except CacheInUse:
        return Left(logical(cache), is_open=True)
    return Left(logical(cache), is_open=False)


class InTurn(NamedTuple):
    """One thread that makes calls on copies of a cache, as a session at some moment."""

    cache: KVCache
    decoder: Decoder
    is_open: bool = True

    def explains(self, threads: Sequence[Sequence[Made]], left: Left) -> bool:
        """Whether some order of the moves of all threads gives all that they gave.

        Args:
            threads: the moves of each, in its order
            left: what was there after all of them
        """
        if not any(threads):
            return left == Left(logical(self.cache), self.is_open)
        first_end = min(moves[0].ended for moves in threads if moves)
        for index, moves in enumerate(threads):
            if not moves or moves[0].begun > first_end:
                continue
            after = self._after(moves[0])
            rest = [*threads[:index], moves[1:], *threads[index + 1 :]]
            if after is not None and after.explains(rest, left):
                return True
        return False

    def _after(self, each: Made) -> "InTurn | None":
        """After one move more, if it gives what it gave."""
        cache = copy(self.cache)
        with cache.bind(self.decoder) as session:
            if not self.is_open:
                session.close()
            if _answer(each.move, session) != each.came:
                return None
        return InTurn(cache, self.decoder, self.is_open and not each.move.closes)


def _answer(move: Move, session: DecoderSession) -> object:
    """The bits that a move gave, or its refusal with all fields."""
    try:
        return told(move.make(session))
    except EngineError as error:
        return type(error), tuple(vars(error).items())
