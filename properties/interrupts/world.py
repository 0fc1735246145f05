"""``World``: what the calls of a scene have in hand, and its logical state.

Spare rows are no part of it: what is interrupted may have written there.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self

import numpy as np

from engine import (
    AdamW,
    AdamWConfig,
    AdamWSnapshot,
    CacheInUse,
    Decoder,
    DecoderConfig,
    DecoderSession,
    KVCache,
    Parameter,
    ParameterBorrowed,
    ParameterRevisionMismatch,
    Probe,
    SessionClosed,
    SplitMix64,
    StepOutput,
    Work,
)
from engine.arrays import Array
from properties.interrupts.scene import Scene
from properties.lives import held

SEED: Final = 38
PROMPT: Final = (0, 1)

TWO_BLOCKS: Final = DecoderConfig(
    vocab_size=3,
    d_model=2,
    n_heads=1,
    n_kv_heads=1,
    d_ff=1,
    n_layers=2,
    capacity=6,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)
ONE_BLOCK: Final = replace(TWO_BLOCKS, n_layers=1)
NO_BLOCK: Final = replace(TWO_BLOCKS, n_layers=0)
ADAMW: Final = AdamWConfig(
    learning_rate=0.01, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.1
)

_FREE, _IN_USE, _STALE = "free", "in use", "stale"


class Kept(NamedTuple):
    """The logical state of one cache.

    Attributes:
        hold: what a bind finds. Trying one might tidy up what is to be found, so where
            a session goes on, beside a bystander, nothing is tried before it has
    """

    length: int
    work: Work
    rows: tuple[tuple[bytes, bytes], ...]
    hold: str | None


class State(NamedTuple):
    """The logical state of a world; compares to the bit.

    Attributes:
        caches: the world's, and the bystander's if there is one
        borrowed: if the cache is known to be in use: names of the parameters that no
            step may change
        returned: what was returned before the call
    """

    caches: tuple[Kept, ...]
    has_session: bool
    borrowed: tuple[str, ...]
    parameters: tuple[tuple[str, bytes, int], ...]
    optimizer: AdamWSnapshot
    generator: int
    returned: tuple[object, ...]


@dataclass(kw_only=True, eq=False)
class World:
    """One decoder, a cache, perhaps bound, an optimizer and a generator.

    Attributes:
        bystanders: caches of the same decoder, each with its session
    """

    config: DecoderConfig = ONE_BLOCK
    session: DecoderSession | None = None
    bystanders: list[tuple[KVCache, DecoderSession]] = field(default_factory=list)
    returned: list[StepOutput] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = SplitMix64(SEED)
        self.decoder = Decoder.initialize(self.config, self.rng)
        self.optimizer = AdamW(ADAMW)
        self.cache = KVCache(self.decoder)

    @classmethod
    def prefilled(cls, config: DecoderConfig = ONE_BLOCK) -> Self:
        """With a session, and a prompt."""
        world = cls(config=config)
        world.bind()
        world.prefill()
        return world

    @classmethod
    def unbound(cls) -> Self:
        """With a prompt, and no session any more."""
        world = cls.prefilled()
        world.open_session.close()
        world.session = None
        return world

    def scene(self, call: Callable[[], object]) -> Scene:
        """A call that the whole world is looked at before and after."""
        return Scene(call, self.state, self.rest)

    @property
    def open_session(self) -> DecoderSession:
        """The session, which there is."""
        assert self.session is not None
        return self.session

    def bind(self, probe: Probe | None = None) -> DecoderSession:
        """Open a session on the cache."""
        self.session = self.cache.bind(self.decoder, probe)
        return self.session

    def prefill(self) -> None:
        """Fill the cache, and keep what was returned."""
        self.returned.append(self.open_session.prefill(PROMPT))

    def add_bystander(self) -> None:
        """Open a session on a cache of its own, with one token."""
        cache = KVCache(self.decoder)
        session = cache.bind(self.decoder)
        self.returned.append(session.prefill([2]))
        self.bystanders.append((cache, session))

    def state(self) -> State:
        """All that any call may change; looking changes nothing in a right engine."""
        caches = (self.cache, *(cache for cache, _ in self.bystanders))
        kept = tuple(map(self._kept, caches))
        return State(
            caches=kept,
            has_session=self.session is not None,
            borrowed=self.borrowed() if kept[0].hold == _IN_USE else (),
            parameters=held(self.decoder),
            optimizer=self.optimizer.snapshot(),
            generator=self.rng.state,
            returned=tuple(map(bits_of, self.returned)),
        )

    def borrowed(self) -> tuple[str, ...]:
        """Names of the parameters that no step may change; steps on the others."""
        parameters = self.decoder.parameters
        return tuple(each.name for each in parameters if not _is_free(each))

    def rest(self) -> tuple[object, ...]:
        """Go on with everybody, close everything, then step and begin anew."""
        seen: list[object] = [self._decoded()]
        for _, session in self.bystanders:
            seen.append(bits_of(session.decode(1)))
            session.close()
        if seen[0]:
            seen.append(self.borrowed())
            self.open_session.close()
        if self._hold(self.cache) == _STALE:
            self.cache = KVCache(self.decoder)
        self.bind().close()
        parameters = self.decoder.parameters
        self.optimizer.step(parameters, ones_for(parameters))
        seen += held(self.decoder), self.optimizer.snapshot()
        KVCache(self.decoder).bind(self.decoder).close()
        return tuple(seen)

    def _decoded(self) -> tuple[object, ...]:
        """Two decodes of the session; nothing if it is closed."""
        if self.session is None:
            return ()
        prefilled: tuple[object, ...] = ()
        try:
            if self.cache.is_empty:
                prefilled = bits_of(self.session.prefill(PROMPT))
            decoded = [bits_of(self.session.decode(token_id)) for token_id in (2, 1)]
        except SessionClosed:
            return ()
        return prefilled, *decoded, self.cache.work

    def _kept(self, cache: KVCache) -> Kept:
        rows = ((rows.keys.tobytes(), rows.values.tobytes()) for rows in cache.layers)
        hold = None if self.bystanders else self._hold(cache)
        return Kept(cache.length, cache.work, tuple(rows), hold)

    def _hold(self, cache: KVCache) -> str:
        try:
            cache.bind(self.decoder).close()
        except CacheInUse:
            return _IN_USE
        except ParameterRevisionMismatch:
            return _STALE
        return _FREE


def _is_free(parameter: Parameter) -> bool:
    """Whether a step may change it, in which case one does."""
    try:
        AdamW(ADAMW).step([parameter], ones_for([parameter]))
    except ParameterBorrowed:
        return False
    return True


def ones_for(parameters: Iterable[Parameter]) -> list[Array]:
    """A gradient of ones for every parameter."""
    return [np.ones(parameter.value.shape) for parameter in parameters]


def bits_of(output: StepOutput) -> tuple[bytes, int, int, int]:
    """An output that compares bit for bit."""
    logits = output.logits.tobytes()
    return logits, output.position, output.length, output.attention_scores
