"""What an engine under test must offer, what it may offer, and the built-in one.

The core is small: an object with ``prefill``, ``decode`` and ``reset``, made from a
configuration and weights. ``BlackBox`` brings such an object under the judge. All else
is opt-in: a subject names what it ``offers``, and laws that need more are not judged.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeAlias

from engine import AdamWConfig, DecoderConfig, Generation, LayerRows, Probe, Work
from engine.arrays import Array, Vector
from properties.calls import Call, Decode, Prefill, Reset


class Offer(StrEnum):
    """What an engine may offer beyond logits."""

    OUTPUTS = "position, length and score values with the logits"
    REFUSALS = "the refusals of the contract, with their fields"
    ROWS = "the cached keys and values"
    STATE = "snapshots that compare"
    COUNTERS = "the six counters"
    SPARE = "overwriting rows outside the prefix"
    PROBE = "probe that is called at every point where a call can fail"
    SESSIONS = "bind and close, several caches and decoders"
    COPIES = "copies of caches"
    FILES = "saving and loading"
    STEPS = "optimizer steps"
    GENERATION = "generation"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """What a call returned, as far as it returns that.

    Attributes:
        logits: (vocab_size,), of the newest row
        position: of the newest row
        length: of the prefix, the newest row included
        attention_scores: score values formed for the newest row
        generation: what was generated
        n_steps: how many steps the optimizer has taken
    """

    logits: Vector | None = None
    position: int | None = None
    length: int | None = None
    attention_scores: int | None = None
    generation: Generation | None = None
    n_steps: int | None = None


class CacheView(NamedTuple):
    """One cache at one moment.

    Attributes:
        length: of the prefix
        work: the six counters
        bits: of every stored row, inside the prefix and outside
        evidence: what the rows were computed from; compares
    """

    length: int
    work: Work
    bits: bytes
    evidence: object


class Observation(NamedTuple):
    """All that a subject is at one moment.

    Attributes:
        caches: in the order in which they came to be
        parameters: every bit of every value, and every revision, in the order in
            which parameters came to be
        optimizer: its moments and constants; compares
        generator: the state that the last generation left
    """

    caches: tuple[CacheView, ...] = ()
    parameters: tuple[bytes, tuple[int, ...]] = (b"", ())
    optimizer: object = None
    generator: int = 0


class Subject:
    """An engine as the judge sees it: made with one cache, bound to one decoder.

    Whoever overrides a method says so in ``offers``; the others are never asked.
    """

    offers: frozenset[Offer] = frozenset()

    def perform(self, call: Call) -> Answer:
        """Make a call; what the engine raises comes out."""
        raise NotImplementedError

    def observe(self) -> Observation:
        """Everything at this moment; equal exactly if nothing changed."""
        return Observation()

    def rows(self, cache: int) -> Sequence[LayerRows]:  # noqa: ARG002 # for overriders
        """The cached rows of every block."""
        return ()

    def storage(self, cache: int) -> Sequence[tuple[int, int]]:  # noqa: ARG002 # for overriders
        """Identities of each block's two buffers."""
        return ()

    def foul(self, cache: int, value: float) -> None:
        """Overwrite every row outside the prefix."""

    def watch(self, probe: Probe) -> None:
        """Call this at every point of whatever is called from now on."""

    def decode_on_copy(self, cache: int, token_id: int) -> Vector:
        """The logits of one more token, decoded on a copy of a cache."""
        raise NotImplementedError

    def weights(self) -> Sequence[Mapping[str, Array]]:
        """The values of every decoder's parameters."""
        return ()

    def gradients(self) -> Sequence[Array]:
        """Those of the last ``Train``, one a parameter, whether it stepped or not."""
        return ()

    def moments(self) -> Mapping[str, tuple[Array, Array]]:
        """The optimizer's moments by parameter."""
        return {}

    def handed_out(self) -> Iterable[Array]:
        """Every kind of array that the public names give away."""
        return ()


Make: TypeAlias = Callable[[DecoderConfig, Mapping[str, Array], AdamWConfig], Subject]
"""Makes a subject with one decoder, and one cache that is bound to it."""


class Core(Protocol):
    """The least that an engine can offer: one sequence."""

    def prefill(self, prompt: Sequence[int]) -> Vector:
        """The logits after a prompt; only called when empty."""

    def decode(self, token_id: int) -> Vector:
        """The logits after one more token; only called when there is room."""

    def reset(self) -> None:
        """Forget the sequence."""


class BlackBox(Subject):
    """An engine of which nothing is known but its logits.

    Args:
        engine: a fresh one, that holds no tokens
    """

    def __init__(self, engine: Core) -> None:
        self._engine = engine

    def perform(self, call: Call) -> Answer:
        """Pass the call on."""
        match call:
            case Prefill(prompt=prompt):
                return Answer(logits=self._engine.prefill(prompt))
            case Decode(token_id=token_id):
                return Answer(logits=self._engine.decode(token_id))
            case Reset():
                self._engine.reset()
            case _:
                raise NotImplementedError  # the judge asks for nothing else
        return Answer()
