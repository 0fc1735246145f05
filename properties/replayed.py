"""``Replayed``: what a prefix amounts to, and how far an engine may be from it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np

from engine import DecoderConfig, Stage
from engine.stages import Place
from properties.allowed import Allowed
from properties.difference import Difference
from properties.tolerance import APART, Bounds, bounds
from reference import Replay, replay
from reference.replay import Real, Reals, Weights

_WIDER: Final[Mapping[str, type[Real]]] = {
    "float32": np.float64,
    "float64": np.longdouble,
}


STREAMS: Final = (Stage.EMBEDDING, Stage.ATTENTION_RESIDUAL, Stage.FFN_RESIDUAL)
"""The stages whose values are normalized next."""


def wider_than(config: DecoderConfig) -> type[Real] | None:
    """The next wider dtype, if the machine has one."""
    wider = _WIDER[config.dtype]
    is_wider = np.finfo(wider).eps < np.finfo(config.float_type).eps
    return wider if is_wider else None


class Standard(NamedTuple):
    """A replay, and by how many bounds it may be missed."""

    replay: Replay
    bounds: Bounds
    n_bounds: float

    def logits(self, length: int) -> Allowed:
        """Those of the newest row of so long a prefix, (vocab_size,)."""
        newest = length - 1
        bound = self.n_bounds * self.bounds.logits[newest]
        return Allowed(self.replay.logits[newest], bound)

    def rows(self, length: int) -> Iterator[tuple[Allowed, Allowed]]:
        """Keys and values of each block, (n_kv_heads, length, head_dim) each."""
        for layer, rows in enumerate(
            zip(self.replay.keys, self.replay.values, strict=True)
        ):
            bounds = self.bounds.keys(layer), self.bounds.values(layer)
            keys, values = (
                Allowed(due[:, :length], self.n_bounds * bound[:, :length])
                for due, bound in zip(rows, bounds, strict=True)
            )
            yield keys, values

    def missed_row(
        self, whose: str, held: Iterable[tuple[Reals, Reals]], length: int
    ) -> Difference | None:
        """The first of some keys and values by block that is too far off."""
        for layer, pair in enumerate(zip(self.rows(length), held, strict=True)):
            for name, allowed, came in zip(("keys", "values"), *pair, strict=True):
                where = f"{whose}{name} of block {layer}, [head, position, feature]"
                if found := allowed.difference(where, came):
                    return found.within("rows", layer, name)
        return None


@dataclass(eq=False)
class Replayed:
    """A prefix, replayed in the configuration's dtype.

    Attributes:
        config: sizes, constants and dtype
        weights: values by name
        tokens: of the prefix
        replay: what they amount to
        recorded: the values of every stage
        n_bounds: by how many bounds an engine may miss them
    """

    config: DecoderConfig
    weights: Weights
    tokens: tuple[int, ...]
    replay: Replay
    recorded: Mapping[Place, Reals]
    n_bounds: float = APART

    @classmethod
    def of(
        cls, config: DecoderConfig, weights: Weights, tokens: tuple[int, ...]
    ) -> Self:
        """Replay a prefix.

        Raises:
            StageFailed: the first stage that fails at any row.
        """
        return cls.in_dtype(config, weights, tokens, config.float_type)

    @classmethod
    def in_dtype(
        cls,
        config: DecoderConfig,
        weights: Weights,
        tokens: tuple[int, ...],
        dtype: type[Real],
    ) -> Self:
        """The same, computed in another dtype: of values that may not fit their own.

        Raises:
            StageFailed: the first stage that fails at any row.
        """
        recorded = dict[Place, Reals]()
        known = replay(config, weights, tokens, dtype, recorded.__setitem__)
        return cls(config, weights, tokens, known, recorded)

    @cached_property
    def bounds(self) -> Bounds:
        """How far a computation in this dtype may be off."""
        return bounds(self.config, self.weights, self.recorded)

    @property
    def reach(self) -> float:
        """The largest of all: a weight, a value, or what the least norm divides by.

        A gradient is made of some ten such factors.
        """
        numbers = [*self.weights.values(), *self.recorded.values()]
        largest = max(float(np.abs(each).max()) for each in numbers)
        streams = [
            value for (stage, _), value in self.recorded.items() if stage in STREAMS
        ]
        energies = [float((x * x).mean(axis=1).min()) for x in streams]
        least = min(energies) + self.config.rms_epsilon
        return max(largest, least**-0.5 if least else np.inf)

    @property
    def due(self) -> Standard:
        """The replay, which may be off as much as the engine."""
        return Standard(self.replay, self.bounds, self.n_bounds)

    @cached_property
    def truth(self) -> Standard | None:
        """A replay in the next wider dtype; none on a machine that has none."""
        wider = wider_than(self.config)
        if wider is None:
            return None
        known = replay(self.config, self.weights, self.tokens, wider)
        return Standard(known, self.bounds, 1.0)

    def in_truth(self) -> "Replayed | None":
        """The same in that dtype, stage by stage, to be missed by one bound."""
        wider = wider_than(self.config)
        if wider is None:
            return None
        known = Replayed.in_dtype(self.config, self.weights, self.tokens, wider)
        return replace(known, n_bounds=1.0)
