"""One cache: threads that bind it never hold it together, copies are of one moment."""

from collections import Counter
from collections.abc import Iterator
from copy import copy
from secrets import randbelow
from time import sleep
from typing import Final

from engine import CacheInUse, Decoder, DecoderSession, KVCache, StepOutput
from properties.inconsistency import Inconsistent, require_alike
from properties.lives import CONFIG, Logical, logical, new_decoder, rows_of, told
from properties.threads.together import give_way, run_together

N_TRIES: Final = 20  # of a thread, before all of them are looked at
N_SEQUENCES: Final = 20  # that are filled in, while another thread copies
MOST: Final = 20
"""Meetings for each that was asked for, until enough has happened at once."""


class Tenancy:
    """A cache, and threads that bind it one after another."""

    def __init__(self, decoder: Decoder) -> None:
        self.lengths: list[int] = []
        self.refusals: list[CacheInUse] = []
        self._decoder = decoder
        self._cache = KVCache(decoder)
        self._holders: list[DecoderSession] = []

    def bind_often(self) -> None:
        """Bind the cache, and make one call on it."""
        for _ in range(N_TRIES):
            try:
                session = self._cache.bind(self._decoder, give_way)
            except CacheInUse as refusal:
                self.refusals.append(refusal)
                continue
            self._holders.append(session)
            sleep(0)  # let the others try, while no call is inside
            if len(self._holders) > 1:
                raise Inconsistent("two sessions are open on one cache")
            self.lengths.append(_one_more(session).length)
            self._holders.remove(session)
            session.close()

    def due_lengths(self) -> list[int]:
        """What as many calls give that come one after another."""
        return [1 + done % CONFIG.capacity for done in range(len(self.lengths))]


def hunt_binds_of_one_cache(n_rounds: int) -> Counter[str]:
    """Let threads bind one cache at once; each that does is alone with it.

    Args:
        n_rounds: tries of each thread, at least

    Returns:
        ``binds`` and ``binds_refused``.

    Raises:
        Inconsistent: two held it together; or they met too seldom.
    """
    decoder, counts = new_decoder(), Counter[str]()
    n_meetings = -(-n_rounds // N_TRIES)
    for n_done in range(1, MOST * n_meetings + 1):
        tenancy = Tenancy(decoder)
        run_together(tenancy.bind_often, tenancy.bind_often)
        require_alike("lengths", tenancy.due_lengths(), tenancy.lengths)
        counts["binds"] += len(tenancy.lengths)
        counts["binds_refused"] += len(tenancy.refusals)
        if n_done >= n_meetings and counts["binds_refused"] >= n_meetings:
            return counts
    raise Inconsistent(f"binds of one cache met too seldom: {dict(counts)}")


class Copied:
    """A session that one thread fills again and again, and copies of its cache.

    Each sequence is one token as often as it fits, so no prefix is one of another.
    """

    def __init__(self) -> None:
        self.seen = Counter[Logical]()
        self._decoder = new_decoder()
        self._cache = KVCache(self._decoder)
        self._next = dict(self._states())
        self._is_filled = False
        self._rows = {state.rows for state in self._next}

    def meet(self) -> None:
        """Fill the cache and copy it at once."""
        self._is_filled = False
        run_together(self._fill, self._copy_often)

    def has_seen_enough(self) -> bool:
        """Whether copies were taken of more than half of what the cache has been."""
        return 2 * len(self.seen) > len(self._next)

    def _fill(self) -> None:
        """With one sequence after another, some of them cut short."""
        try:
            with self._cache.bind(self._decoder, give_way) as session:
                for number in range(N_SEQUENCES):
                    session.reset()
                    for _ in range(1 + randbelow(CONFIG.capacity)):
                        _one_more(session, number % CONFIG.vocab_size)
        finally:
            self._is_filled = True

    def _copy_often(self) -> None:
        """A copy is as the cache once was, and goes on from there."""
        while not self._is_filled:
            made = copy(self._cache)
            state = logical(made)
            if state not in self._next or rows_of(self._cache) not in self._rows:
                raise Inconsistent(f"the cache was never like its copy, {state}")
            require_alike("a copy", self._next[state], self._after(made))
            self.seen[state] += 1

    def _states(self) -> Iterator[tuple[Logical, object]]:
        """All that the cache is, one after another, and what would come then."""
        cache = KVCache(self._decoder)
        with cache.bind(self._decoder) as session:
            for token in range(CONFIG.vocab_size):
                session.reset()
                yield logical(cache), self._after(copy(cache))
                while not cache.is_full:
                    _one_more(session, token)
                    yield logical(cache), self._after(copy(cache))

    def _after(self, made: KVCache) -> object:
        with made.bind(self._decoder) as session:
            return told(_one_more(session))


def hunt_copies(n_rounds: int) -> Counter[str]:
    """Let one thread copy a cache that another fills.

    Args:
        n_rounds: copies, at least

    Returns:
        ``copies``.

    Raises:
        Inconsistent: a copy is of no moment; or too few moments were seen.
    """
    copied = Copied()
    for _ in range(MOST + n_rounds):
        copied.meet()
        if copied.seen.total() >= n_rounds and copied.has_seen_enough():
            return Counter(copies=copied.seen.total())
    raise Inconsistent(f"only {len(copied.seen)} states were copied")


def _one_more(session: DecoderSession, token: int = 2) -> StepOutput:
    """A row more; a full cache begins anew."""
    if session.cache.is_full:
        session.reset()
    if session.cache.is_empty:
        return session.prefill([token])
    return session.decode(token)
