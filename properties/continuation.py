"""Decodes that go on from given rows, for many copies of one cache at once.

An engine lets nobody write into its cache, and that stays so. What a decode makes of
other rows is computed here, by the engine's formulas with one more axis in front:
copies. Blocks in which all copies are still alike have one copy for all.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from engine import DecoderConfig
from engine.arrays import Array, Rotation
from engine.layers import rotate, rotation, silu, softmax


class Copies(NamedTuple):
    """Keys and values of a block, (n_copies, n_kv_heads, n_positions, head_dim) each.

    Where all are alike there is one copy.
    """

    keys: Array
    values: Array


def decoded(
    config: DecoderConfig,
    weights: Mapping[str, Array],
    blocks: Sequence[Copies],
    tokens: Sequence[int],
) -> Array:
    """The logits of decoding some tokens in turn, (n_copies, n_tokens, vocab_size).

    Args:
        config: sizes, constants and dtype
        weights: values by name
        blocks: what is cached before
        tokens: the same for all copies
    """
    decoding, length = _Decoding(config, weights), blocks[0].keys.shape[2]
    rooms, n_copies = list[Copies](), 1
    for block in blocks:
        n_copies = max(n_copies, *map(len, block))  # what comes behind differs as well
        rooms.append(Copies(*(_room(rows, n_copies, len(tokens)) for rows in block)))
    steps = [
        decoding.logits(rooms, position, token_id)
        for position, token_id in enumerate(tokens, start=length)
    ]
    return np.stack(steps, axis=1)


def _room(rows: Array, n_copies: int, n_more: int) -> Array:
    _, n_heads, length, width = rows.shape
    room: Array = np.zeros((n_copies, n_heads, length + n_more, width), rows.dtype)
    room[:, :, :length] = rows
    return room


class _Decoding(NamedTuple):
    """One token a step, the same in every copy."""

    config: DecoderConfig
    weights: Mapping[str, Array]

    def logits(self, rooms: Sequence[Copies], position: int, token_id: int) -> Array:
        config, table = self.config, self.weights["token_embedding.weight"]
        unit = rotation(position, config.head_dim, config.rope_base, config.dtype)
        x = table[token_id : token_id + 1]
        for layer, room in enumerate(rooms):
            start = f"blocks.{layer}."
            own = {
                name.removeprefix(start): value
                for name, value in self.weights.items()
                if name.startswith(start)
            }
            normed = self.normed(x, own["attention_norm.gain"])
            x = x + self.mixed(own, normed, room, unit, position)
            normed = self.normed(x, own["ffn_norm.gain"])
            product = silu(normed @ own["ffn.gate.weight"])
            x = x + (product * (normed @ own["ffn.up.weight"])) @ own["ffn.down.weight"]
        logits: Array = self.normed(x, self.weights["final_norm.gain"]) @ table.T
        return logits

    def mixed(
        self,
        own: Mapping[str, Array],
        normed: Array,
        room: Copies,
        unit: Rotation,
        position: int,
    ) -> Array:
        """What attention adds, (n_copies, d_model), once the new row is in its room."""
        config = self.config
        alone, group = (config.n_kv_heads, config.head_dim), config.group_size

        def turned(projected: Array) -> Array:
            return rotate(projected.reshape(-1, config.head_dim), unit)

        queries = turned(normed @ own["attention.query.weight"])
        queries = queries.reshape(-1, config.n_kv_heads, group, config.head_dim)
        new_keys = turned(normed @ own["attention.key.weight"])
        room.keys[:, :, position] = new_keys.reshape(-1, *alone)
        new_values = normed @ own["attention.value.weight"]
        room.values[:, :, position] = new_values.reshape(-1, *alone)
        keys, values = (rows[:, :, : position + 1] for rows in room)
        scores = queries @ keys.swapaxes(-1, -2) / math.sqrt(config.head_dim)
        mixture: Array = softmax(scores) @ values
        merged = mixture.reshape(-1, config.d_model)
        change: Array = merged @ own["attention.output.weight"]
        return change

    def normed(self, x: Array, gain: Array) -> Array:
        energy = np.mean(x * x, axis=-1, keepdims=True) + self.config.rms_epsilon
        normed: Array = x / np.sqrt(energy) * gain
        return normed
