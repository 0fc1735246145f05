"""``KVCache``: rows, and the evidence of what they were computed from."""

import math
from collections import deque
from dataclasses import dataclass
from itertools import repeat
from numbers import Real
from typing import Final, NamedTuple, Never, Self, SupportsIndex
from weakref import ref

from engine.arrays import Heads
from engine.decoder import Decoder
from engine.errors import (
    CacheInUse,
    ParameterInStep,
)
from engine.evidence import Evidence
from engine.floating import rounded
from engine.kinds import require_kind
from engine.lease import Lease
from engine.occupants import run_inside
from engine.parameters import held_by
from engine.prefix import Prefix
from engine.row import Weights
from engine.session import DecoderSession
from engine.stages import Probe
from engine.undo import or_undo
from engine.work import Work

_NO_WORK: Final = Work()


@dataclass(frozen=True, slots=True, eq=False)
class LayerRows:
    """A copy of one block's part of the prefix.

    Attributes:
        keys: (n_kv_heads, length, head_dim), rotated
        values: (n_kv_heads, length, head_dim)
        length: of the prefix
    """

    keys: Heads
    values: Heads
    length: int


class CacheSnapshot(NamedTuple):
    """All that a cache is at one moment, spare bits included; compares with ``==``."""

    length: int
    work: Work
    evidence: Evidence
    bits: bytes


class KVCache:
    """Keys and values of one sequence, for one decoder as it is now.

    Storage is allocated once and has a fixed capacity. Only a session, made by
    ``bind``, moves the prefix. Copying gives an unbound cache with the same state,
    evidence and bits.

    Args:
        decoder: whose rows are to be kept
        work: counters to go on from

    Raises:
        TypeError: an argument is of another kind; nothing was made.
        InvalidConfig: a counter is no integer from 0 to 2^64 - 1; nothing was made.
        MemoryError: the system refuses the space; nothing was made.
    """

    __slots__ = ("__weakref__", "_evidence", "_prefix", "_tenants")

    _evidence: Evidence
    _prefix: Prefix
    _tenants: set[ref[object]]

    def __new__(cls, decoder: Decoder, work: Work = _NO_WORK) -> Self:
        """Make a cache; there is no ``__init__`` that could be called once more."""
        require_kind(decoder, Decoder)
        require_kind(work, Work)
        self = super().__new__(cls)
        self._evidence = Evidence.of(decoder)
        self._prefix = Prefix.empty(decoder.config, work.validated())
        self._tenants = set()
        return self

    @property
    def length(self) -> int:
        """Positions held."""
        return self._prefix.state.length

    @property
    def capacity(self) -> int:
        """Most positions that can be held."""
        return self._evidence.config.capacity

    @property
    def is_empty(self) -> bool:
        """Whether no position is held."""
        return self.length == 0

    @property
    def is_full(self) -> bool:
        """Whether no position is left."""
        return self.length == self.capacity

    @property
    def work(self) -> Work:
        """What was committed since the start or the last reset."""
        return self._prefix.state.work

    @property
    def layers(self) -> tuple[LayerRows, ...]:
        """A copy of the prefix of every block."""
        return self._prefix.at_one_moment(self._copied_rows)[1]

    def _copied_rows(self) -> tuple[LayerRows, ...]:
        length = self.length
        return tuple(
            LayerRows(keys[:, :length].copy(), values[:, :length].copy(), length)
            for keys, values in self._prefix.blocks
        )

    @property
    def storage_ids(self) -> tuple[tuple[int, int], ...]:
        """Address of each block's two buffers; equal as long as none is reallocated."""
        return tuple(
            (rows.keys.ctypes.data, rows.values.ctypes.data)
            for rows in self._prefix.blocks
        )

    def snapshot(self) -> CacheSnapshot:
        """State, counters, evidence and all stored bits; not whether it is bound."""
        state, bits = self._prefix.bits()
        return CacheSnapshot(state.length, state.work, self._evidence, bits)

    def fill_spare(self, value: float) -> None:
        """Overwrite every stored row outside the prefix; no result depends on them.

        Raises:
            TypeError: the value is no real number; nothing changed.
            OverflowError: no float of the dtype is as large; nothing changed.
            SessionBusy: a call is inside the session; nothing changed.
        """
        run_inside((self._prefix.occupants,), self._fill_spare, value)

    def bind(self, decoder: Decoder, probe: Probe | None = None) -> DecoderSession:
        """Check that the rows belong to a decoder as it is, and borrow its parameters.

        Args:
            decoder: the one that the cache was made for
            probe: called with every stage's value, before anything is committed

        Raises:
            BindingError: the decoder is another one, or not as it was; nothing changed.
            CacheInUse: another session is open on this cache; nothing changed.
            TypeError: what should be a decoder is none; nothing changed.
        """
        require_kind(decoder, Decoder)
        self._evidence.require_same(decoder)
        made: list[DecoderSession] = []
        return or_undo(
            lambda: self._opened(made, decoder, probe), lambda: _close_all(made)
        )

    def _fill_spare(self, value: object) -> None:
        self._prefix.occupants.refuse_company()
        if not isinstance(value, Real):
            message = f"a row holds real numbers, not {type(value).__name__}"
            raise TypeError(message)
        number = float(value)
        dtype = self._evidence.config.dtype
        stored = rounded(number, dtype)
        if math.isinf(stored) and stored != value:
            message = f"no {dtype} is as large as {number}"
            raise OverflowError(message)
        self._prefix.fill_spare(stored)

    def _opened(
        self, made: list[DecoderSession], decoder: Decoder, probe: Probe | None
    ) -> DecoderSession:
        made.append(DecoderSession(self, self._prefix, probe))
        self._open(made[0], decoder)
        # Popping hands the open session over: no frame has it from here on.
        return made.pop()

    def _open(self, session: DecoderSession, decoder: Decoder) -> None:
        """Publish the borrow first and look second, as a step does with its marks."""
        parameters = decoder.parameters
        session._lease = Lease()
        session._leased = ref(session._lease)
        readers = [self._tenants, *(parameter._readers for parameter in parameters)]
        forget = [reader.discard for reader in readers]
        # One loop in C: a reference that dies before a set has hashed it is an error.
        deque(
            map(set.add, readers, map(ref, repeat(session._borrower), forget)), maxlen=0
        )

        in_step = [
            index
            for index, parameter in enumerate(parameters)
            if parameter._steps.count()
        ]
        self._evidence.require_current()
        # A session's last call may still be on its way out, or have died there.
        if self._prefix.occupants.count() or _alive(self._tenants) > 1:
            raise CacheInUse
        if in_step:
            raise ParameterInStep(in_step[0], parameters[in_step[0]].name)
        values = [held.array() for held in held_by(parameters)]
        session._lease.weights = Weights.of(decoder.config, values)

    def __copy__(self) -> Self:
        copy = super().__new__(type(self))
        copy._evidence = self._evidence
        copy._prefix = self._prefix.copy()
        copy._tenants = set()
        return copy

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.__copy__()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Never:
        message = "a cache belongs to the parameters of this process: no pickling"
        raise TypeError(message)


def _alive(tenants: set[ref[object]]) -> int:
    """How many exist: a dead one stays where the collector took it with the cache."""
    return sum(tenant() is not None for tenant in tuple(tenants))


def _close_all(made: list[DecoderSession]) -> None:
    for session in made:
        session._lease = None
