"""``Parameter``: a weight with an identity, a revision, and those who read it."""

from collections import deque
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple, Never, Self, SupportsIndex
from weakref import ref

import numpy as np

from engine.arrays import Array, Numbers, array_of
from engine.occupants import Occupants


class Held(NamedTuple):
    """One value, and how often the parameter was given a new one.

    The value lies in ``bytes``, which nobody can write. An array over them can be
    neither made writable nor traced back to anything writable.
    """

    data: bytes
    shape: tuple[int, ...]
    dtype: str
    revision: int

    @classmethod
    def copy_of(cls, value: Numbers, revision: int) -> "Held":
        """The value of an array, copied."""
        array = array_of(value)
        if array is None or array.dtype.kind not in "biufc":
            message = f"a parameter holds numbers, not this {type(value).__name__}"
            raise TypeError(message)
        return cls(array.tobytes(), array.shape, array.dtype.str, revision)

    def array(self) -> Array:
        """A new read-only array over the value: in-place tricks reach only this one."""
        array: Array = np.ndarray(self.shape, self.dtype, self.data)
        return array


class Parameter:
    """A named weight: its identity is the object, its value is read-only to everyone.

    ``revision`` starts at 0 and grows by one with every replacement. Only an optimizer
    step replaces a value, and none does while a session reads it.

    Args:
        name: its place in the decoder, such as ``blocks.0.ffn.up.weight``
        value: any array of numbers, which is copied

    Raises:
        TypeError: the name is no text, or the value no numbers; nothing was made.
    """

    __slots__ = ("__weakref__", "_held", "_name", "_readers", "_steps")

    _held: Held
    _name: str
    _readers: set[ref[object]]
    _steps: Occupants

    def __new__(cls, name: str, value: Numbers) -> Self:
        """Make a parameter; there is no ``__init__`` that could be called once more."""
        self = super().__new__(cls)
        self._name = str.__str__(name)  # refuses all but text, and unmasks a subclass
        self._held = Held.copy_of(value, 0)
        self._readers = set()
        self._steps = Occupants()
        return self

    @property
    def name(self) -> str:
        """Its place in the decoder."""
        return self._name

    @property
    def value(self) -> Array:
        """The value as a new read-only array."""
        return self._held.array()

    @property
    def revision(self) -> int:
        """How often the value was replaced."""
        return self._held.revision

    def __repr__(self) -> str:
        held = self._held
        return f"<Parameter {self._name} {held.shape} revision {held.revision}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Never:
        message = "a parameter is its identity, it cannot be copied or pickled"
        raise TypeError(message)


def held_by(parameters: Iterable[Parameter]) -> tuple[Held, ...]:
    """The values and revisions of one moment, read with no bytecode in between."""
    return tuple(map(attrgetter("_held"), parameters))


def store_together(
    owners: Sequence[object], attributes: Sequence[str], values: Sequence[object]
) -> None:
    """Set one attribute of each owner: all of them, or none if interrupted before."""
    deque(map(setattr, owners, attributes, values), maxlen=0)
