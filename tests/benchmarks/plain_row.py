"""One decoded token in plain NumPy: what the session's arithmetic costs by itself.

No check, no counter, no transaction; otherwise as one would write it by hand, with
buffers made once and no copy that is not needed. Every query head has its own keys.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.arrays import Array, Heads, Matrix, Rotation, Vector
from engine.config import DecoderConfig


@dataclass(frozen=True, slots=True, eq=False)
class PlainBlock:
    """The nine weights of a block, in stable order."""

    attention_norm: Array
    query: Array
    key: Array
    value: Array
    output: Array
    ffn_norm: Array
    gate: Array
    up: Array
    down: Array


class PlainDecoder:
    """A decoder that remembers its rows, and trusts whoever calls it."""

    def __init__(self, config: DecoderConfig, weights: Sequence[Array]) -> None:
        """Weights in stable order; it keeps copies, as it would have read them."""
        own = [np.array(weight) for weight in weights]
        starts = range(1, len(own) - 1, 9)
        self.embedding, self.final_norm = own[0], own[-1]
        self.blocks = [PlainBlock(*own[start : start + 9]) for start in starts]
        shape = (config.n_heads, config.capacity, config.head_dim)
        self.keys: list[Heads] = [np.zeros(shape) for _ in starts]
        self.values: list[Heads] = [np.zeros(shape) for _ in starts]
        self.length = 0
        self.config = config
        self.scale = 1 / math.sqrt(config.head_dim)
        pairs = np.arange(0, config.head_dim, 2) / config.head_dim
        angles = np.outer(np.arange(config.capacity), config.rope_base**-pairs)
        self.rotations = np.exp(1j * angles)

    def decode(self, token_id: int) -> Vector:
        """The logits (vocab_size,) after one more token."""
        x: Vector = self.embedding[token_id]
        unit: Rotation = self.rotations[self.length]
        for block, keys, values in zip(
            self.blocks, self.keys, self.values, strict=True
        ):
            x = x + self.attend(block, keys, values, x, unit)
            n = self.norm(x, block.ffn_norm)
            x = x + (silu(n.dot(block.gate)) * n.dot(block.up)).dot(block.down)
        self.length += 1
        logits: Vector = self.norm(x, self.final_norm).dot(self.embedding.T)
        return logits

    def attend(
        self, block: PlainBlock, keys: Heads, values: Heads, x: Vector, unit: Rotation
    ) -> Vector:
        """What attention adds to the row; its key and value stay in the buffers."""
        n = self.norm(x, block.attention_norm)
        queries = self.rotated(n.dot(block.query), unit)
        keys[:, self.length] = self.rotated(n.dot(block.key), unit)
        values[:, self.length] = n.dot(block.value).reshape(queries.shape)
        seen = slice(self.length + 1)
        scores = np.matmul(keys[:, seen], queries[:, :, None])[:, :, 0] * self.scale
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixture = np.matmul(weights[:, None, :], values[:, seen])
        change: Vector = mixture.reshape(-1).dot(block.output)
        return change

    def norm(self, x: Vector, gain: Array) -> Vector:
        """The row divided by its root mean square, and scaled."""
        energy = float(x.dot(x)) / len(x) + self.config.rms_epsilon
        normed: Vector = x / math.sqrt(energy) * gain
        return normed

    def rotated(self, row: Vector, unit: Rotation) -> Matrix:
        """The row as (n_heads, head_dim), each adjacent pair turned."""
        pairs = row.view(np.complex128).reshape(self.config.n_heads, -1)
        turned: Matrix = (pairs * unit).view(np.float64)
        return turned


def silu(gate: Vector) -> Vector:
    """``gate * sigmoid(gate)``, for gates that are not huge."""
    activated: Vector = gate / (1 + np.exp(-gate))
    return activated
