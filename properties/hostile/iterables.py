"""Arrays, containers and iterables of the wrong shape, kind or length."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from itertools import count, cycle, repeat
from typing import Final

import numpy as np

from engine.arrays import Array
from properties.hostile.scalars import Maker
from properties.hostile.trap import Trap

_DTYPES: Final = "?bBiqQefgFDSUOmM"
_ROWS: Final = 4
_SHAPES: Final = ((), (0,), (1,), (4,), (5,), (4, 1), (1, 4), (2, 2), (0, 4), (4, 0))
_HUGE: Final = (2**30, 2**29)  # of one element, many times


class Sub(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """An array of another class."""


class Endless:
    """The old way of iterating, without an end."""

    def __init__(self, trap: Trap, item: int) -> None:
        self.trap, self.item = trap, item

    def __getitem__(self, position: int) -> int:
        return self.trap.read(self.item)


class Sized:
    """A few tokens, and a length that is not theirs."""

    def __init__(self, trap: Trap, n_tokens: int, length: object) -> None:
        self.trap, self.n_tokens, self.length = trap, n_tokens, length

    def __len__(self) -> int:
        if self.length is None:
            self.trap.spring(self.n_tokens)
        return self.length  # type: ignore[return-value] # what is tried

    def __iter__(self) -> Iterator[int]:
        return map(self.trap.read, repeat(0, self.n_tokens))


class Hinting:
    """An iterator that says how much is left, and is wrong."""

    def __init__(self, trap: Trap, hint: object) -> None:
        self.trap, self.hint, self.left = trap, hint, 3

    def __iter__(self) -> "Hinting":
        return self

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.trap.read(0)

    def __length_hint__(self) -> object:
        return self.hint


class Breaking:
    """An iterator that raises once it has given some."""

    def __init__(self, trap: Trap, number: int) -> None:
        self.trap, self.number, self.left = trap, number, number % 6

    def __iter__(self) -> "Breaking":
        return self

    def __next__(self) -> int:
        if not self.left:
            self.trap.spring(self.number)
        self.left -= 1
        return self.trap.read(0)


class Calling:
    """An iterator that calls back before each token."""

    def __init__(self, trap: Trap, number: int) -> None:
        self.trap, self.left = trap, 1 + number % 5

    def __iter__(self) -> "Calling":
        return self

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        self.left -= 1
        self.trap.call_back()
        return self.trap.read(1)


def _nested(depth: int) -> list[object]:
    outer: list[object] = [0]
    for _ in range(depth):
        outer = [outer]
    return outer


def _circle() -> list[object]:
    circle: list[object] = [0]
    circle.append(circle)
    return circle


def _strided() -> Array:
    return np.arange(20.0)[18::-6]


def _read_only() -> Array:
    array = np.ones(_ROWS)
    array.flags.writeable = False
    return array


def _objects(number: int) -> object:
    array = np.empty(_ROWS, object)
    array[:] = [number, None, "x", [1]]
    return array


def _masked(number: int) -> object:
    return np.ma.masked_equal(np.arange(4) + number % 2, 1)


COLLECTIONS: Final[Mapping[str, Maker]] = {
    "array of some dtype": lambda _, n: np.ones(4, _DTYPES[n % len(_DTYPES)]),
    "array of some shape": lambda _, n: np.ones(_SHAPES[n % len(_SHAPES)]),
    "array of tokens": lambda _, n: np.arange(n % 7),
    "array with a NaN": lambda _, n: np.array([1.0, np.nan, np.inf, 0.0])[: 1 + n % 4],
    "array near overflow": lambda _, __: np.full(4, 1e308),
    "array with strides": lambda _, __: _strided(),
    "array of the other byte order": lambda _, __: np.ones(4, ">f8"),
    "read-only array": lambda _, __: _read_only(),
    "array of objects": lambda _, n: _objects(n),
    "masked array": lambda _, n: _masked(n),
    "masked": lambda _, __: np.ma.masked,
    "array of a subclass": lambda _, __: np.ones(4).view(Sub),
    "array of records": lambda _, __: np.zeros(4, [("a", "f8"), ("b", "i4")]),
    "array of no memory": lambda _, __: np.broadcast_to(1.0, _HUGE),
    "list": lambda _, n: [n % 5] * (n % 7),
    "list of anything": lambda _, n: [0, n, None, "x", 1.5],
    "ragged list": lambda _, __: [[1.0, 2.0], [3.0]],
    "nested list": lambda _, n: _nested((1, 2, 70, 900, 100_000)[n % 5]),
    "circle": lambda _, __: _circle(),
    "dict": lambda _, n: dict.fromkeys(range(n % 7)),
    "set": lambda _, n: set(range(n % 7)),
    "counter": lambda _, n: Counter({n: n}),
    "deque": lambda _, n: deque([n], maxlen=1),
    "range": lambda _, n: range(n),
    "generator": lambda t, n: (t.read(0) for _ in range(n % 7)),
    "repeat": lambda t, n: map(t.read, repeat(n % 5)),
    "count": lambda t, n: map(t.read, count(n)),
    "cycle": lambda t, n: map(t.read, cycle([0, n])),
    "endless items": lambda t, n: Endless(t, n % 5),
    "length too large": lambda t, n: Sized(t, n % 7, 2**62),
    "length too small": lambda t, n: Sized(t, n % 7, 1),
    "length below zero": lambda t, n: Sized(t, n % 7, -1),
    "length no index": lambda t, n: Sized(t, n % 7, 2**70),
    "length no integer": lambda t, n: Sized(t, n % 7, "3"),
    "length that raises": lambda t, n: Sized(t, n % 7, None),
    "hint too large": lambda t, __: Hinting(t, 2**62),
    "hint below zero": lambda t, __: Hinting(t, -1),
    "hint no integer": lambda t, __: Hinting(t, "3"),
    "iterator that raises": Breaking,
    "iterator that calls back": Calling,
}
