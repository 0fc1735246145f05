"""Plain values of the wrong type, size or precision; none does anything by itself."""

import enum
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np

from properties.hostile.trap import Trap

Maker: TypeAlias = Callable[[Trap, int], object]

_DTYPES: Final = "?bhilqBHILQefdgFDGSUVOmM"
_MAX: Final = 2**1000


class Small(enum.IntEnum):
    """A token ID with a name."""

    ZERO = 0
    ONE = 1


class Flagged(enum.Flag):
    """No integer, though its members look like some."""

    ONE = 1


class Odd(int):
    """An integer that lies in every comparison and in its text."""

    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        return False

    def __lt__(self, other: object) -> bool:
        return True

    def __le__(self, other: object) -> bool:
        return True

    def __ge__(self, other: object) -> bool:
        return True

    def __index__(self) -> int:
        return 3

    def __repr__(self) -> str:
        return "odd" * 100_000


class Fluid(float):
    """A float that is another one when it is asked."""

    def __float__(self) -> float:
        return -1.0


class Word(str):
    """A text that is equal to any other."""

    __slots__ = ()

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __str__(self) -> str:
        return "w" * 300_000


def _float(number: int) -> float:
    return float(max(-_MAX, min(number, _MAX)))


def _scalar(number: int) -> object:
    """Of one of NumPy's types."""
    return np.ones(1, _DTYPES[number % len(_DTYPES)])[0]


def _zero_rank(number: int) -> object:
    return np.ones((), _DTYPES[number % len(_DTYPES)])


NUMBERS: Final[Mapping[str, Maker]] = {
    "None": lambda _, __: None,
    "ellipsis": lambda _, __: ...,
    "not implemented": lambda _, __: NotImplemented,
    "bool": lambda _, n: bool(n % 2),
    "integer": lambda _, n: n,
    "long integer": lambda _, n: (-1) ** (n % 2) * 10**5_000,
    "float of an integer": lambda _, n: _float(n),
    "fraction of one": lambda _, n: math.ldexp(1.0, -(n % 1100)),
    "minus zero": lambda _, __: -0.0,
    "NaN": lambda _, __: math.nan,
    "infinity": lambda _, n: (-1) ** (n % 2) * math.inf,
    "complex": lambda _, n: complex(_float(n), 1),
    "Decimal": lambda _, n: Decimal(str(_float(n))),
    "signalling Decimal": lambda _, __: Decimal("sNaN"),
    "Fraction": lambda _, n: Fraction(n, 3),
    "member of IntEnum": lambda _, n: Small(n % 2),
    "member of Flag": lambda _, __: Flagged.ONE,
    "class of Enum": lambda _, __: Small,
    "odd integer": lambda _, n: Odd(n),
    "fluid float": lambda _, n: Fluid(_float(n)),
    "text": lambda _, n: ("", "0", "greedy", "\ud800", "\0", "٣")[n % 6],
    "text of no file": lambda _, n: ("a\0b", "\ud800", "/" * 5_000)[n % 3],
    "long text": lambda _, __: "x" * 300_000,
    "equal text": lambda _, __: Word("0"),
    "bytes": lambda _, n: (b"", b"\0", b"\0\1", b"\xff")[n % 4],
    "bytearray": lambda _, n: bytearray(n % 7),
    "memoryview": lambda _, n: memoryview(bytes(n % 7)),
    "scalar of NumPy": lambda _, n: _scalar(n),
    "NumPy's own bool": lambda _, n: np.bool_(n % 2),
    "long double": lambda _, __: np.longdouble("1e4000"),
    "array of rank 0": lambda _, n: _zero_rank(n),
    "class": lambda _, n: (int, float, list, np.ndarray, object)[n % 5],
    "function": lambda _, __: len,
    "exception": lambda _, __: ValueError("never raised"),
    "plain object": lambda _, __: object(),
}
