"""Objects that answer Python's own questions with a lie, a call or an exception."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, repeat
from numbers import Real
from typing import Final

import numpy as np

from engine import Decoder, DecoderConfig, Greedy, Parameter
from properties.hostile.scalars import Maker
from properties.hostile.trap import N_EXCEPTIONS, Trap

_NO_INTEGERS: Final = ("1", 1.5, None, b"1", [1], 1j, object())
_NO_ARRAYS: Final = ("1", 1.5, None, [1.0], object())
_CLAIMED: Final = (bool, int, float, Parameter, Decoder, DecoderConfig, Greedy)
_INTERFACES: Final[tuple[object, ...]] = (
    None,
    {},
    {"shape": (4,), "typestr": "<f8", "version": 3},
    {"shape": (-1,), "typestr": "<f8", "version": 3, "data": b"\0" * 8},
    {"shape": (4,), "typestr": "<f8", "version": 3, "data": b"\0" * 8},
    {"shape": "4", "typestr": 8, "version": None, "data": b"\0" * 8},
)


class Registered:
    """Counts as a real number, and does something when asked which one."""

    def __init__(self, answer: Callable[[], object]) -> None:
        self.answer = answer

    def __float__(self) -> float:
        return self.answer()  # type: ignore[return-value] # what is tried


Real.register(Registered)


class Yes:
    """Has whatever it is asked for: itself."""

    def __getattr__(self, name: str) -> "Yes":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> "Yes":
        return self


class Stateful:
    """A generator, as far as a generator's state is concerned.

    Args:
        reading: gives the state
        writing: is called when it is set
    """

    def __init__(
        self, reading: Callable[[], object], writing: Callable[[], object]
    ) -> None:
        self._reading, self._writing = reading, writing

    @property
    def state(self) -> object:
        """The state, or not."""
        return self._reading()

    @state.setter
    def state(self, _: object) -> None:
        self._writing()


def acting(**methods: object) -> object:
    """An object with these methods, each given itself alone."""
    return type("Acting", (), methods)()


def raising(trap: Trap, number: int) -> Callable[..., object]:
    """A method that raises."""

    def method(*_: object, **__: object) -> object:
        trap.spring(number)

    return method


def answering(answer: object) -> Callable[..., object]:
    """A method with one answer."""
    return lambda *_, **__: answer


def calling(trap: Trap, answer: object) -> Callable[..., object]:
    """A method that calls back first."""

    def method(*_: object, **__: object) -> object:
        trap.call_back()
        return answer

    return method


def wavering(*answers: object) -> Callable[..., object]:
    """A method with another answer each time, the last one for ever."""
    left: Iterator[object] = chain(answers, repeat(answers[-1]))
    return lambda *_, **__: next(left)


def _claiming(claimed: object) -> object:
    return acting(__class__=property(lambda _: claimed))


OBJECTS: Final[Mapping[str, Maker]] = {
    "index that raises": lambda t, n: acting(__index__=raising(t, n)),
    "index no integer": lambda _, n: acting(__index__=answering(_NO_INTEGERS[n % 7])),
    "index a bool": lambda _, n: acting(__index__=answering(bool(n % 2))),
    "index": lambda _, n: acting(__index__=answering(n)),
    "index that wavers": lambda _, n: acting(__index__=wavering(n, 2**70, -1)),
    "index that calls back": lambda t, n: acting(__index__=calling(t, n % 5)),
    "float that raises": lambda t, n: Registered(raising(t, n)),
    "float no number": lambda _, n: Registered(answering(_NO_INTEGERS[n % 7])),
    "float that wavers": lambda _, __: Registered(wavering(1.0, -1.0)),
    "float that calls back": lambda t, __: Registered(calling(t, 0.5)),
    "int and float": lambda _, n: acting(
        __int__=answering(n), __float__=answering(0.5), __bool__=answering(answer=True)
    ),
    "array that raises": lambda t, n: acting(__array__=raising(t, n)),
    "array no array": lambda _, n: acting(__array__=answering(_NO_ARRAYS[n % 5])),
    "array that wavers": lambda _, __: acting(
        __array__=wavering(np.ones(4), np.ones(3), np.full(4, np.nan))
    ),
    "array that calls back": lambda t, __: acting(__array__=calling(t, np.ones(4))),
    "array interface": lambda _, n: acting(__array_interface__=_INTERFACES[n % 6]),
    "array interface that raises": lambda t, n: acting(
        __array_interface__=property(raising(t, n))
    ),
    "length that calls back": lambda t, n: acting(
        __len__=calling(t, n % 7), __getitem__=lambda _, i: t.read(i % 5)
    ),
    "iteration that raises": lambda t, n: acting(__iter__=raising(t, n)),
    "iteration of no iterator": lambda _, n: acting(
        __iter__=answering(_NO_INTEGERS[n % 7])
    ),
    "equality that raises": lambda t, n: acting(
        __eq__=raising(t, n), __ne__=raising(t, n), __hash__=raising(t, n)
    ),
    "equality of an array": lambda _, __: acting(
        __eq__=answering(np.ones(4)), __ne__=answering(np.zeros(4))
    ),
    "truth that raises": lambda t, n: acting(__bool__=raising(t, n)),
    "text that raises": lambda t, n: acting(
        __repr__=raising(t, n % N_EXCEPTIONS),
        __str__=raising(t, n % N_EXCEPTIONS),
        __format__=raising(t, n % N_EXCEPTIONS),
    ),
    "text too long": lambda _, __: acting(__repr__=answering("x" * 300_000)),
    "text no text": lambda _, __: acting(__repr__=answering(3)),
    "claims a class": lambda _, n: _claiming(_CLAIMED[n % 7]),
    "class that raises": lambda t, n: acting(__class__=property(raising(t, n))),
    "attribute that raises": lambda t, n: acting(__getattr__=raising(t, n)),
    "says yes": lambda _, __: Yes(),
    "path that raises": lambda t, n: acting(__fspath__=raising(t, n)),
    "path no text": lambda _, n: acting(__fspath__=answering(_NO_INTEGERS[n % 7])),
    "path that wavers": lambda _, __: acting(__fspath__=wavering("a/none", "b", 3)),
    "call that raises": lambda t, n: acting(__call__=raising(t, n)),
    "call that calls back": lambda t, __: acting(__call__=calling(t, None)),
    "state that raises": lambda t, n: Stateful(raising(t, n), raising(t, n)),
    "state that cannot be set": lambda t, n: Stateful(answering(1), raising(t, n)),
    "state of any kind": lambda _, n: Stateful(answering(n), answering(None)),
    "state that wavers": lambda _, __: Stateful(wavering(1, -1, "x"), answering(None)),
    "state that calls back": lambda t, __: Stateful(calling(t, 1), calling(t, None)),
}
