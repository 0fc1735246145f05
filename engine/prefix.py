"""``Prefix``: the rows of every block, and the one record of how many of them count."""

from collections.abc import Callable
from typing import NamedTuple, Self, TypeVar

import numpy as np

from engine.arrays import Array, Heads
from engine.config import DecoderConfig
from engine.occupants import Occupants
from engine.work import Work

T = TypeVar("T")


class State(NamedTuple):
    """What a commit replaces, all at once.

    A cache was prefilled exactly if ``length`` is not 0.
    """

    length: int
    work: Work


class BlockRows(NamedTuple):
    """The buffers of one block, (n_kv_heads, capacity, head_dim) each."""

    keys: Heads
    values: Heads


class Prefix:
    """Rows of fixed capacity, zero-filled once; those below the length are the prefix.

    There is one length for all blocks, so no block can be left behind another. Rows at
    or beyond it are spare: nothing ever reads them. Storing a new ``state`` is the one
    commit.

    Attributes:
        state: the length and the counters
        blocks: one distinct pair of buffers a block
        occupants: the calls that are inside at this moment
    """

    __slots__ = ("_storage", "blocks", "occupants", "state")

    def __init__(self, storage: Array, state: State) -> None:
        """Take over ``storage``, (2, n_layers, n_kv_heads, capacity, head_dim)."""
        self._storage = storage
        self.blocks = tuple(
            BlockRows(keys, values) for keys, values in zip(*storage, strict=True)
        )
        self.state = state
        self.occupants = Occupants()

    @classmethod
    def empty(cls, config: DecoderConfig, work: Work) -> Self:
        """Storage for a configuration, and counters to go on from.

        Raises:
            MemoryError: the system refuses the space; nothing was made.
        """
        # Without blocks the capacity has no bound, and there is nothing to store.
        capacity = config.capacity if config.n_layers else 0
        heads = (config.n_kv_heads, capacity, config.head_dim)
        storage: Array = np.zeros((2, config.n_layers, *heads), config.dtype)
        return cls(storage, State(0, work))

    def copy(self) -> Self:
        """The same state and bits in storage of its own, with nobody inside."""
        state, storage = self.at_one_moment(self._storage.copy)
        return type(self)(storage, state)

    def bits(self) -> tuple[State, bytes]:
        """The state and every stored bit, spare rows included."""
        return self.at_one_moment(self._storage.tobytes)

    def at_one_moment(self, read: Callable[[], T]) -> tuple[State, T]:
        """What is read of the prefix of one state, whatever another thread commits."""
        while True:
            state = self.state
            rows = read()
            if self.state is state:
                return state, rows

    def bits_at(self, position: int) -> Array:
        """A copy of the rows of all blocks at one position."""
        return self._storage[..., position : position + 1, :].copy()

    def restore(self, position: int, bits: Array) -> None:
        """Put back what ``bits_at`` gave for a spare row."""
        self._storage[..., position : position + 1, :] = bits

    def fill_spare(self, value: float) -> None:
        """Overwrite every spare row."""
        self._storage[..., self.state.length :, :] = value
