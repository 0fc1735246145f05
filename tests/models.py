"""Small models for examples, and a snapshot of all that a call could change."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self

import numpy as np
import pytest

from engine import (
    AdamW,
    AdamWConfig,
    AdamWSnapshot,
    CacheSnapshot,
    Decoder,
    DecoderConfig,
    DecoderSession,
    EngineError,
    GenerationRequest,
    KVCache,
    Parameter,
    Probe,
    SplitMix64,
    StageFailed,
    StepOutput,
    TopK,
    Work,
)
from engine.arrays import Array, Numbers

SEED: Final = 38
PROMPT: Final = (0, 1)
EMBEDDING: Final = "token_embedding.weight"

TINY: Final = DecoderConfig(
    vocab_size=3,
    d_model=2,
    n_heads=1,
    n_kv_heads=1,
    d_ff=1,
    n_layers=1,
    capacity=4,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)
GROUPED: Final = replace(TINY, d_model=8, n_heads=4, n_kv_heads=2, d_ff=3, n_layers=2)
NO_BLOCKS: Final = replace(TINY, n_layers=0)
SINGLE: Final = replace(GROUPED, dtype="float32")

CONFIGS: Final = {"tiny": TINY, "grouped": GROUPED, "no blocks": NO_BLOCKS}
each_config: Final = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)

ADAMW: Final = AdamWConfig(
    learning_rate=0.01, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.1
)

REQUEST: Final = GenerationRequest(
    mode=TopK(temperature=1.0, k=3), eos_token=None, max_new_tokens=9
)


def decoder_of(config: DecoderConfig = TINY) -> Decoder:
    """The same weights at every call."""
    return Decoder.initialize(config, SplitMix64(SEED))


def widened(decoder: Decoder) -> Decoder:
    """The same numbers in float64."""
    config = replace(decoder.config, dtype="float64")
    return decoder_with(
        config, {each.name: each.value.astype("float64") for each in decoder.parameters}
    )


def decoder_with(config: DecoderConfig, weights: Mapping[str, Numbers]) -> Decoder:
    """A decoder of given weights; those not given stay as they were drawn."""
    drawn = decoder_of(config).parameters
    given = [Parameter(each.name, weights.get(each.name, each.value)) for each in drawn]
    return Decoder.from_parameters(config, given)


def filled(config: DecoderConfig, values: Mapping[str, float]) -> Decoder:
    """As ``decoder_with``, each given weight filled with one number."""
    shapes = {each.name: each.value.shape for each in decoder_of(config).parameters}
    weights = {
        name: np.full(shapes[name], value, config.dtype)
        for name, value in values.items()
    }
    return decoder_with(config, weights)


def ones_for(parameters: Iterable[Parameter]) -> list[Array]:
    """A gradient of ones for every parameter."""
    return [np.ones_like(parameter.value) for parameter in parameters]


def step_once(decoder: Decoder) -> None:
    """Replace every parameter, which is refused while any is borrowed."""
    AdamW(ADAMW).step(decoder.parameters, ones_for(decoder.parameters))


Logical = tuple[int, Work, tuple[tuple[bytes, bytes], ...]]


def logical(cache: KVCache) -> Logical:
    """Length, counters, and the rows inside the prefix."""
    rows = ((layer.keys.tobytes(), layer.values.tobytes()) for layer in cache.layers)
    return cache.length, cache.work, tuple(rows)


def held(decoder: Decoder) -> tuple[tuple[str, bytes, int], ...]:
    """Every parameter's name, bits and revision."""
    return tuple(
        (each.name, each.value.tobytes(), each.revision) for each in decoder.parameters
    )


def bits_of(output: StepOutput) -> tuple[bytes, int, int, int]:
    """An output that compares bit for bit."""
    logits = output.logits.tobytes()
    return logits, output.position, output.length, output.attention_scores


def facts(error: BaseException) -> tuple[object, ...]:
    """The class of an error and its fields."""
    return type(error), error.args, vars(error)


class Everything(NamedTuple):
    """All that a refusal must leave as it was; compares bit for bit."""

    cache: CacheSnapshot
    storage_ids: tuple[tuple[int, int], ...]
    parameters: tuple[tuple[str, bytes, int], ...]
    optimizer: AdamWSnapshot
    generator: int
    returned: tuple[tuple[bytes, int, int, int], ...]


@dataclass(kw_only=True)
class World:
    """A decoder, a cache bound to it, and all else that a call could reach."""

    decoder: Decoder
    work: Work = field(default_factory=Work)
    probe: Probe | None = None
    returned: list[StepOutput] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cache = KVCache(self.decoder, work=self.work)
        self.session = self.cache.bind(self.decoder, probe=self.probe)
        self.optimizer = AdamW(ADAMW)
        self.rng = SplitMix64(SEED)

    @classmethod
    def empty(cls, config: DecoderConfig = TINY, work: Work | None = None) -> Self:
        """Bound, without a prompt."""
        return cls(decoder=decoder_of(config), work=work or Work())

    @classmethod
    def prefilled(cls, config: DecoderConfig = TINY, work: Work | None = None) -> Self:
        """Bound, with a prompt of two tokens."""
        world = cls.empty(config, work)
        world.returned.append(world.session.prefill(PROMPT))
        return world

    @classmethod
    def full(cls, config: DecoderConfig = TINY) -> Self:
        """Bound, with no position left."""
        world = cls.prefilled(config)
        while not world.cache.is_full:
            world.returned.append(world.session.decode(2))
        return world

    @classmethod
    def closed(cls, config: DecoderConfig = TINY) -> Self:
        """With a prompt, and a session that was closed."""
        world = cls.prefilled(config)
        world.session.close()
        return world

    @classmethod
    def stepped(cls, config: DecoderConfig = TINY) -> Self:
        """With a closed session, and an optimizer that took a step."""
        world = cls.closed(config)
        parameters = world.decoder.parameters
        world.optimizer.step(parameters, ones_for(parameters))
        return world

    def everything(self) -> Everything:
        """All that a refused call may not change."""
        return Everything(
            self.cache.snapshot(),
            self.cache.storage_ids,
            held(self.decoder),
            self.optimizer.snapshot(),
            self.rng.state,
            tuple(map(bits_of, self.returned)),
        )


def outcome(call: Callable[[], StepOutput]) -> object:
    """The bits that a call returns, or the facts of its refusal."""
    try:
        return bits_of(call())
    except EngineError as error:
        return facts(error)


def inside(world: World, call: Callable[[DecoderSession], object]) -> object:
    """What a call gives, or raises, while a decode is inside a session.

    The session is the world's cache bound anew, with a probe that calls.
    """
    results: list[object] = []

    def call_back(*_: object) -> None:
        if not results:
            results.append(call(session))

    with world.cache.bind(world.decoder, probe=call_back) as session:
        try:
            session.decode(2)
        except StageFailed as failure:
            raise failure.__cause__ or failure from None
    return results[0]


class CallingBack:
    """A gradient that makes a call when a step takes a look at it."""

    def __init__(self, value: Array, call: Callable[[], object]) -> None:
        self.value = value
        self.call = call

    def __array__(self, dtype: None = None, copy: None = None) -> Array:
        """The value, after the call."""
        self.call()
        return self.value


def step_inside(parameters: Sequence[Parameter], call: Callable[[], object]) -> None:
    """Make a call while an optimizer step is inside some parameters."""
    gradients = ones_for(parameters)
    gradients[0] = CallingBack(gradients[0], call)  # type: ignore[call-overload] # what numpy makes an array of
    AdamW(ADAMW).step(parameters, gradients)
