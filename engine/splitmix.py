"""``SplitMix64``: the generator behind initialization and sampling."""

from typing import Final, TypeAlias

import numpy as np

from engine.arrays import Vector
from engine.config import exact_int
from engine.errors import InvalidConfig
from engine.request import HasState

_Words: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]

MAX_STATE: Final = 2**64 - 1
_INCREMENT: Final = 0x9E3779B97F4A7C15
_UNIT: Final = 2.0**-53
_MAX_DRAWS: Final = 2**56  # near its own limit NumPy says ValueError instead


def state_of(rng: HasState) -> int:
    """The state of any generator that has one.

    Raises:
        TypeError: it has none.
    """
    try:
        return rng.state
    except AttributeError as error:
        message = f"a {type(rng).__name__} has no state"
        raise TypeError(message) from error


class SplitMix64:
    """A stream of 64-bit words from one word of state; a seed is the first state.

    Raises:
        InvalidConfig: the state is no integer from 0 to 2^64 - 1; nothing changed.

    Source:
        Steele, Lea and Flood 2014.
    """

    __slots__ = ("_state",)

    def __init__(self, state: int) -> None:
        self.state = state

    @property
    def state(self) -> int:
        """The word from which the next draw follows."""
        return self._state

    @state.setter
    def state(self, state: int) -> None:
        word = exact_int("state", state, 0)
        if word > MAX_STATE:
            raise InvalidConfig("state", state, "must be at most 2^64 - 1")
        self._state = word

    def __repr__(self) -> str:
        return f"SplitMix64({self._state:#x})"

    def draws(self, count: int) -> _Words:
        """The next ``count`` words, (count,).

        Raises:
            MemoryError: there is no space for them; nothing was drawn.
        """
        if count > _MAX_DRAWS:
            message = f"{count} words of 8 bytes do not fit in memory"
            raise MemoryError(message)
        steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_INCREMENT)
        words: _Words = steps + np.uint64(self._state)
        words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        self._state = (self._state + count * _INCREMENT) & MAX_STATE
        return words ^ words >> np.uint64(31)

    def units(self, count: int) -> Vector:
        """The next ``count`` unit draws in [0, 1), (count,)."""
        units: Vector = np.multiply(self.draws(count) >> np.uint64(11), _UNIT)
        return units
