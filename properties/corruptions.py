"""What can happen to one cached vector, from all of it down to its last digits."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from engine import SplitMix64
from engine.arrays import Array, Heads

Corrupt: TypeAlias = Callable[[Heads, SplitMix64], Array]
"""From a block's keys or values, (n_kv_heads, length, head_dim), each vector corrupted.

Every vector is made from the sound ones, as if it were the only one to change.
"""


def zeroed(rows: Heads, _rng: SplitMix64) -> Array:
    """What was never written."""
    return np.zeros_like(rows)


def neighbours(rows: Heads, _rng: SplitMix64) -> Array:
    """The vector of the next position, or for the last one of that before."""
    length = rows.shape[1]
    order = [*range(1, length), max(length - 2, 0)]
    return rows[:, order]


@np.errstate(over="ignore")  # what float16 does not hold is infinite there
def halved(rows: Heads, _rng: SplitMix64) -> Array:
    """Each feature rounded to float16 and back."""
    back: Array = rows.astype(np.float16).astype(rows.dtype)
    return back


def moved(size: float, rows: Heads, rng: SplitMix64) -> Array:
    """Each vector off by ``size`` times its length, in a direction of its own.

    This is the relative error of a vector as numerical analysis has it, by norm. The
    direction is drawn from a cube, and the result is rounded to the dtype.
    """
    wide = rows.astype(np.float64)
    directions = 2 * rng.units(rows.size).reshape(rows.shape) - 1
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    corrupted: Array = (wide + size * lengths * directions).astype(rows.dtype)
    return corrupted


CORRUPTIONS: Final[Mapping[str, Corrupt]] = {
    "zero": zeroed,
    "next": neighbours,
    "1e-2": partial(moved, 1e-2),
    "half": halved,
    "1e-4": partial(moved, 1e-4),
    "1e-7": partial(moved, 1e-7),
    "1e-10": partial(moved, 1e-10),
}
"""By the names that the table has."""
