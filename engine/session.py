"""``DecoderSession``: checks, prepares, commits; the only thing that moves a prefix."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Never, Self, SupportsIndex
from weakref import ref

from engine.arrays import Vector, read_only_copy
from engine.errors import (
    CacheFull,
    DecodeRequiresPrefill,
    DecodeTokenOutOfRange,
    PrefillRequiresEmpty,
    SessionClosed,
    StageFailed,
)
from engine.lease import Entry, Lease
from engine.occupants import run_inside
from engine.prefix import Prefix, State
from engine.row import Row, Weights, prepare
from engine.stages import Probe, Stage
from engine.tokens import exact_prompt, exact_token, read_prompt, require_fit
from engine.work import Work, decode_work, prefill_work, scores_between

if TYPE_CHECKING:
    # A cache makes sessions, and a session names its cache: the one circle there is.
    from engine.cache import KVCache


@dataclass(frozen=True, slots=True, eq=False)
class StepOutput:
    """What the newest row of a prefill or a decode gave.

    Attributes:
        logits: (vocab_size,), of the next token
        position: of the newest row
        length: of the prefix, the newest row included
        attention_scores: score values formed for the newest row
    """

    logits: Vector
    position: int
    length: int
    attention_scores: int


def _no_lease() -> None:
    """As a reference to a lease that is gone."""


class DecoderSession:
    """One decoder and the cache that belongs to it, until the session is closed.

    Made by ``KVCache.bind``. While open, it holds a read borrow on every parameter.
    A refused call changes nothing, a failed ``decode`` neither; a failed ``prefill``
    leaves the cache empty. The session works on after both.
    """

    __slots__ = (
        "__weakref__",
        "_cache",
        "_inside",
        "_itself",
        "_lease",
        "_leased",
        "_prefix",
        "_probe",
    )

    def __init__(self, cache: "KVCache", prefix: Prefix, probe: Probe | None) -> None:
        """Make a closed session; ``KVCache.bind`` opens it."""
        self._cache = cache
        self._prefix = prefix
        self._inside = (prefix.occupants,)
        self._probe = probe
        self._lease: Lease | None = None
        # What all borrowing refers to dies with it, even if a ``__del__`` brings the
        # session back: then the collector has closed it.
        self._leased: Callable[[], Lease | None] = _no_lease
        self._itself = ref(self)

    if TYPE_CHECKING:

        def __enter__(self) -> Self: ...
    else:
        __enter__ = Entry(attrgetter("_itself"))

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Never:
        message = "a session borrows, it cannot be copied or pickled"
        raise TypeError(message)

    @property
    def cache(self) -> "KVCache":
        """The bound cache."""
        return self._cache

    def prefill(self, prompt: Iterable[SupportsIndex]) -> StepOutput:
        """Fill the empty cache from a prompt, row by row, and commit once.

        Args:
            prompt: token IDs, at least 1 and at most ``capacity``

        Returns:
            The newest row's output.

        Raises:
            RequestError: refused; nothing changed.
            TypeError: a token is no integer; nothing changed.
            WorkOverflow: a counter has no room; nothing changed.
            StageFailed: the cache is empty, with the counters it had.
        """
        return run_inside(self._inside, self._prefill, prompt)

    def decode(self, token_id: SupportsIndex) -> StepOutput:
        """Extend the prefix by one token.

        Args:
            token_id: the token at the next position

        Returns:
            The new row's output.

        Raises:
            RequestError: refused; nothing changed.
            TypeError: the token is no integer; nothing changed.
            WorkOverflow: a counter has no room; nothing changed.
            StageFailed: nothing changed.
        """
        return run_inside(self._inside, self._decode, token_id)

    def reset(self) -> None:
        """Forget the sequence and the counters; buffers, bits and binding stay.

        Raises:
            SessionClosed: the session is closed; nothing changed.
            SessionBusy: another call is inside; nothing changed.
        """
        run_inside(self._inside, self._reset)

    def close(self) -> None:
        """Give back every borrow; the cache keeps its rows. Closing twice is once.

        Raises:
            SessionBusy: another call is inside; the session stays open.
        """
        if self._lease is not None:
            run_inside(self._inside, self._give_back)

    @property
    def _borrower(self) -> object:
        """What all that is borrowed refers to."""
        return self._lease

    def _admit(self) -> Weights:
        """The weights to compute from, for a call that is the only one inside.

        The second look counts: a close may have been on its way out at the first.
        """
        self._require_open()
        self._prefix.occupants.refuse_company()
        return self._require_open()

    def _require_open(self) -> Weights:
        weights: Weights | None = getattr(self._leased(), "weights", None)
        if weights is None:
            raise SessionClosed
        return weights

    def _prefill(self, prompt: Iterable[SupportsIndex]) -> StepOutput:
        weights = self._admit()
        config = weights.config
        state = self._prefix.state
        tokens = read_prompt(prompt, 0 if state.length else config.capacity)
        if state.length:
            raise PrefillRequiresEmpty(state.length)
        require_fit(tokens, config.capacity, prompt)
        token_ids = exact_prompt(tokens, config.vocab_size)
        n_tokens = len(token_ids)
        expected = scores_between(config, 0, n_tokens)
        state.work.require_room(prefill_work(config, n_tokens, expected))

        newest = self._row(weights, token_ids[0], 0)
        scores_formed = newest.scores_formed
        for position in range(1, n_tokens):
            newest = self._row(weights, token_ids[position], position)
            scores_formed += newest.scores_formed
        return self._commit(newest, prefill_work(config, n_tokens, scores_formed))

    def _decode(self, token_id: SupportsIndex) -> StepOutput:
        weights = self._admit()
        config = weights.config
        prefix = self._prefix
        state = prefix.state
        if not state.length:
            raise DecodeRequiresPrefill
        token = exact_token(token_id)
        if not 0 <= token < config.vocab_size:
            raise DecodeTokenOutOfRange(token, config.vocab_size)
        if state.length == config.capacity:
            raise CacheFull(config.capacity)
        expected = scores_between(config, state.length, state.length + 1)
        state.work.require_room(decode_work(config, expected))

        spare = prefix.bits_at(state.length)
        try:
            row = self._row(weights, token, state.length)
            return self._commit(row, decode_work(config, row.scores_formed))
        except BaseException:
            if prefix.state is state:  # else it is committed, and no longer spare
                prefix.restore(state.length, spare)
            raise

    def _row(self, weights: Weights, token_id: int, position: int) -> Row:
        row = Row(weights, self._prefix, token_id, position)
        prepare(row, self._probe)
        return row

    def _reset(self) -> None:
        self._admit()
        self._prefix.state = State(0, Work())

    def _give_back(self) -> None:
        self._prefix.occupants.refuse_company()
        self._lease = None

    def _commit(self, newest: Row, done: Work) -> StepOutput:
        """Make all rows up to the newest the prefix of every block, in one store."""
        prefix = self._prefix
        position = newest.position
        if self._probe is not None:
            try:
                logits = read_only_copy(newest.logits)
                self._probe(Stage.COMMIT, None, position, logits)
            except Exception as error:
                raise StageFailed(Stage.COMMIT, None) from error
        work = prefix.state.work.plus(done)
        length = position + 1
        scores = newest.scores_formed
        output = StepOutput(newest.logits, position, length, scores)
        prefix.state = State(length, work)
        return output
