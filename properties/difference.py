"""``Difference``: the first place at which what came is not what was due."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from engine.arrays import Array


class Bits(bytes):
    """The bits of numbers, and of which dtype these are."""

    dtype: str = "float64"

    @classmethod
    def of(cls, numbers: bytes, dtype: str) -> Self:
        """Bits that compare as bytes do."""
        bits = cls(numbers)
        bits.dtype = dtype
        return bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place, and both of its values."""

    where: str
    due: object
    came: object
    bound: float | None = None

    def __str__(self) -> str:
        within = "" if self.bound is None else f"\n  bound  {self.bound:.3g}"
        return f"{self.where}\n  due    {self.due}\n  came   {self.came}{within}"


def unlike(where: str, due: object, came: object) -> Difference | None:
    """The first place in two records that is not equal, down to the bits of a row."""
    if due == came:
        return None
    if isinstance(due, bytes) and isinstance(came, bytes):
        return _unlike_bits(where, due, came)
    if isinstance(due, tuple) and isinstance(came, tuple) and len(due) == len(came):
        names: Sequence[str] = getattr(due, "_fields", ())
        for index, pair in enumerate(zip(due, came, strict=True)):
            place = f"{where}.{names[index]}" if names else f"{where}[{index}]"
            if found := unlike(place, *pair):
                return found
    return Difference(where=where, due=due, came=came)


def unlike_bits(where: str, due: Array | None, came: Array | None) -> Difference | None:
    """The first number of two arrays that has other bits."""
    return unlike(where, bits_of(due), bits_of(came))


def bits_of(array: Array | None) -> bytes:
    """Every bit of an array; none of nothing."""
    return b"" if array is None else Bits.of(array.tobytes(), array.dtype.str)


def _unlike_bits(where: str, due: bytes, came: bytes) -> Difference:
    """The first number that differs, or all that was raised instead of numbers."""
    dtype = np.dtype(due.dtype if isinstance(due, Bits) else np.float64)
    if len(due) != len(came) or len(due) % dtype.itemsize:
        return Difference(where=where, due=due, came=came)
    words = (np.frombuffer(bits, f"u{dtype.itemsize}") for bits in (due, came))
    index = int(np.flatnonzero(np.not_equal(*words))[0])
    numbers = (float(np.frombuffer(bits, dtype)[index]) for bits in (due, came))
    first, second = numbers
    return Difference(where=f"{where}, number {index}", due=first, came=second)
