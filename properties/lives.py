"""``Life``: all that a session can touch, and the calls that it is made of.

Two lives of one seed that make the same calls are alike to the bit, so one that nobody
disturbs tells what another one has to be.
"""

from collections.abc import Callable, Mapping
from copy import copy
from secrets import randbits
from typing import Final, NamedTuple

from engine import (
    AdamW,
    AdamWSnapshot,
    CacheInUse,
    Decoder,
    DecoderConfig,
    GenerationRequest,
    KVCache,
    Parameter,
    SplitMix64,
    StepOutput,
    TopK,
    Work,
    generate,
)
from engine.arrays import Array
from engine.errors import BindingError
from properties.calls import Step
from properties.drawn import gradients, initial_weights
from properties.script import LARGE_STEP, Weights

CONFIG: Final = DecoderConfig(
    vocab_size=5,
    d_model=8,
    n_heads=4,
    n_kv_heads=2,
    d_ff=3,
    n_layers=2,
    capacity=8,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)
PROMPT: Final = (0, 1, 3)
CHOICE: Final = GenerationRequest(
    mode=TopK(temperature=1.0, k=3), eos_token=None, max_new_tokens=2
)
_N_GRADIENTS: Final = 8

Rows = tuple[tuple[bytes, bytes], ...]


class Logical(NamedTuple):
    """What counts of a cache: spare rows do not."""

    length: int
    work: Work
    rows: Rows


class Standing(NamedTuple):
    """Where a life stands; compares bit for bit."""

    cache: Logical
    is_bound: bool
    parameters: tuple[tuple[str, bytes, int], ...]
    optimizer: AdamWSnapshot
    generator: int


class Life:
    """A decoder, its optimizer and generator, and one cache that is bound.

    Args:
        seed: of the weights and the generator
    """

    def __init__(self, seed: int) -> None:
        self.decoder = decoder_of(initial_weights(CONFIG, Weights(seed=seed)))
        self.optimizer = AdamW(LARGE_STEP)
        self.rng = SplitMix64(seed)
        self.cache = KVCache(self.decoder)
        self.session = self.cache.bind(self.decoder)

    @property
    def is_bound(self) -> bool:
        """Whether a session is open on the cache."""
        try:
            self.cache.bind(self.decoder).close()
        except CacheInUse:
            return True
        except BindingError:  # stale, so a step has found no session
            return False
        return False

    def standing(self) -> Standing:
        """All of it at this moment."""
        return Standing(
            cache=logical(self.cache),
            is_bound=self.is_bound,
            parameters=held(self.decoder),
            optimizer=self.optimizer.snapshot(),
            generator=self.rng.state,
        )

    def step(self) -> int:
        """Replace every weight; the gradients depend on the count of steps alone."""
        parameters = self.decoder.parameters
        shapes = tuple(parameter.value.shape for parameter in parameters)
        step = Step(seed=self.optimizer.snapshot().step % _N_GRADIENTS)
        return self.optimizer.step(parameters, gradients(step, shapes))

    def renew(self) -> None:
        """Take a new cache."""
        self.cache = KVCache(self.decoder)

    def bind(self) -> None:
        """Open a session on the cache."""
        self.session = self.cache.bind(self.decoder)


CALLS: Final[Mapping[str, Callable[[Life], object]]] = {
    "prefill": lambda life: life.session.prefill(PROMPT),
    "decode": lambda life: life.session.decode(2),
    "reset": lambda life: life.session.reset(),
    "fill spare": lambda life: life.cache.fill_spare(7.0),
    "copy": lambda life: copy(life.cache),
    "generate": lambda life: generate(life.decoder, PROMPT, CHOICE, life.rng),
    "close": lambda life: life.session.close(),
    "step": Life.step,
    "new cache": Life.renew,
    "bind": Life.bind,
}

END: Final = ("close", "step", "new cache", "bind")
"""Always possible, and leads to where every life begins."""


def new_decoder() -> Decoder:
    """A decoder of weights that no other run has."""
    return decoder_of(initial_weights(CONFIG, Weights(seed=randbits(64))))


def decoder_of(weights: Mapping[str, Array]) -> Decoder:
    """A decoder with parameters of its own."""
    parameters = [Parameter(name, value) for name, value in weights.items()]
    return Decoder.from_parameters(CONFIG, parameters)


def logical(cache: KVCache) -> Logical:
    """What counts of a cache."""
    return Logical(cache.length, cache.work, rows_of(cache))


def rows_of(cache: KVCache) -> Rows:
    """The rows inside the prefix, by block."""
    return tuple(
        (layer.keys.tobytes(), layer.values.tobytes()) for layer in cache.layers
    )


def held(decoder: Decoder) -> tuple[tuple[str, bytes, int], ...]:
    """Every parameter's name, bits and revision."""
    return tuple(
        (each.name, each.value.tobytes(), each.revision) for each in decoder.parameters
    )


def told(answer: object) -> object:
    """An answer that compares bit for bit."""
    match answer:
        case StepOutput():
            logits = answer.logits.tobytes()
            return logits, answer.position, answer.length, answer.attention_scores
        case KVCache():
            return logical(answer)
        case _:
            return answer
