"""``Difference``: the first place at which what came is not what was due."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
    """One place, and both of its values.

    Attributes:
        where: the place in words
        due: what had to be there
        came: what was there
        bound: how far that may be off
        place: the same as data, what was compared first: a program finds it by that
    """

    where: str
    due: object
    came: object
    bound: float | None = None
    place: tuple[str | int, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        within = "" if self.bound is None else f"\n  bound  {self.bound:.3g}"
        return f"{self.where}\n  due    {self.due}\n  came   {self.came}{within}"

    def within(self, *outer: str | int) -> Self:
        """The same of what was compared as a part of something."""
        return replace(self, place=(*outer, *self.place))


def within(found: Difference | None, *outer: str | int) -> Difference | None:
    """The same of a difference, if there is one."""
    return None if found is None else found.within(*outer)


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
                return found.within(names[index] if names else index)
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
    where = f"{where}, number {index}"
    return Difference(where=where, due=first, came=second, place=(index,))
