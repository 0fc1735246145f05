"""One row on its way through the decoder: computed apart from every prefix."""

from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

from engine.arrays import Array, Matrix, Rotation, Vector, read_only_copy
from engine.config import DecoderConfig
from engine.errors import NonFinite, StageFailed
from engine.floating import is_surely_finite, raising, require_finite, rounded, silently
from engine.layers import (
    attention_scores,
    rms_norm,
    rotate,
    rotation,
    silu,
    softmax,
)
from engine.prefix import BlockRows, Prefix
from engine.stages import Place, Probe, row_places


class BlockWeights(NamedTuple):
    """The nine parameters of one block, in stable order."""

    attention_norm: Vector
    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix
    ffn_norm: Vector
    gate: Matrix
    up: Matrix
    down: Matrix


class Weights(NamedTuple):
    """A decoder's values as a row reads them.

    ``epsilon`` is the configuration's, rounded to its dtype: what is 0 or infinite
    there is so in a norm.
    """

    config: DecoderConfig
    epsilon: float
    embedding: Matrix
    blocks: tuple[BlockWeights, ...]
    final_norm: Vector
    places: tuple[Place, ...]

    @classmethod
    def of(cls, config: DecoderConfig, values: Sequence[Array]) -> Self:
        """Parameters in stable order, named.

        The layout fixes each rank; indexing with ``...`` makes the type forget it.
        """
        ranked = [value[...] for value in values]
        size = len(BlockWeights._fields)
        starts = range(1, len(values) - 1, size)
        blocks = tuple(BlockWeights(*ranked[at : at + size]) for at in starts)
        places = row_places(config.n_layers)
        epsilon = rounded(config.rms_epsilon, config.dtype)
        return cls(config, epsilon, ranked[0], blocks, ranked[-1], places)


class Row:
    """One token at one position, and what the decoder makes of it.

    Its keys and values are written into the storage at its position, beyond the prefix,
    where nobody looks before a commit.

    Attributes:
        logits: (vocab_size,), once all stages are done
        scores_formed: score values in the arrays that were formed
    """

    __slots__ = ("logits", "position", "prefix", "scores_formed", "token_id", "weights")

    logits: Vector

    def __init__(
        self, weights: Weights, prefix: Prefix, token_id: int, position: int
    ) -> None:
        self.weights = weights
        self.prefix = prefix
        self.token_id = token_id
        self.position = position
        self.scores_formed = 0

    def stages(self) -> Iterator[Array]:
        """Compute stage by stage, giving each value in the order of ``row_places``."""
        weights = self.weights
        config = weights.config
        epsilon = weights.epsilon
        self.scores_formed = 0
        x: Vector = weights.embedding[self.token_id]
        yield x
        unit = rotation(self.position, config.head_dim, config.rope_base, config.dtype)
        for block, rows in zip(weights.blocks, self.prefix.blocks, strict=True):
            normed = rms_norm(x, block.attention_norm, epsilon, self.position)
            yield normed
            mixed = yield from self._attention(normed, block, rows, unit)
            x = x + mixed
            yield x
            normed = rms_norm(x, block.ffn_norm, epsilon, self.position)
            yield normed
            fed = yield from _feed_forward(normed, block)
            x = x + fed
            yield x
        normed = rms_norm(x, weights.final_norm, epsilon, self.position)
        yield normed
        self.logits = weights.embedding.dot(normed)
        yield self.logits

    def _attention(
        self, normed: Vector, block: BlockWeights, rows: BlockRows, unit: Rotation
    ) -> Generator[Array, None, Vector]:
        config = self.weights.config
        head_dim = config.head_dim
        queries = normed.dot(block.query).reshape(config.n_kv_heads, -1, head_dim)
        yield queries
        keys = normed.dot(block.key).reshape(config.n_kv_heads, head_dim)
        yield keys
        values = normed.dot(block.value).reshape(config.n_kv_heads, head_dim)
        yield values
        queries = rotate(queries, unit)
        yield queries
        keys = rotate(keys, unit)
        yield keys
        length = self.position + 1
        rows.keys[:, self.position] = keys
        rows.values[:, self.position] = values
        scores = attention_scores(queries, rows.keys[:, :length])
        self.scores_formed += scores.size
        yield scores
        weights = softmax(scores)
        yield weights
        mixture = np.matmul(weights, rows.values[:, :length])
        yield mixture
        output: Vector = mixture.reshape(config.d_model).dot(block.output)
        yield output
        return output

    def is_surely_finite(self) -> bool:
        """Whether the logits and the new keys and values are, at a glance."""
        new_rows = self.prefix.bits_at(self.position).reshape(-1)
        return is_surely_finite(self.logits) and is_surely_finite(new_rows)


def _feed_forward(
    normed: Vector, block: BlockWeights
) -> Generator[Array, None, Vector]:
    gate = normed.dot(block.gate)
    yield gate
    up = normed.dot(block.up)
    yield up
    product = silu(gate) * up
    yield product
    down: Vector = product.dot(block.down)
    yield down
    return down


def prepare(row: Row, probe: Probe | None) -> None:
    """Take a row through every stage before its commit.

    Without a probe it is judged in one go. Floating-point flags, the logits, the new
    keys and values, and the places where a bad value would vanish (an infinite norm, a
    score of -inf) tell whether a closer look is due: the row is then computed again,
    stage by stage, and that verdict counts.

    Raises:
        StageFailed: a stage raised an exception, or formed a value that is not finite,
            or the probe raised; the storage beyond the prefix may have changed.
    """
    if probe is not None or not raising(_is_sound, row):
        _run_watched(row, probe)


def _is_sound(row: Row) -> bool:
    stages = row.stages()
    place = row.weights.places[0]
    try:
        for place in row.weights.places:  # noqa: B007 # the except clause uses it
            next(stages)
        return row.is_surely_finite()
    except (FloatingPointError, NonFinite):
        return False
    except Exception as error:
        raise StageFailed(*place) from error


def _run_watched(row: Row, probe: Probe | None) -> None:
    stages = row.stages()
    for stage, layer in row.weights.places:
        try:
            value, is_sound = silently(_next_of, stages)
            if not is_sound:
                require_finite(value)
            if probe is not None:
                probe(stage, layer, row.position, read_only_copy(value))
        except Exception as error:
            raise StageFailed(stage, layer) from error


def _next_of(stages: Iterator[Array]) -> tuple[Array, bool]:
    """The value of the next stage, and whether it is surely finite."""
    value = next(stages)
    return value, is_surely_finite(value.reshape(-1))
