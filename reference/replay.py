"""The decoder made naive on purpose: every call replays the complete prefix."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from engine import errors
from engine.config import DecoderConfig
from engine.stages import Place, Stage
from reference.tokens import Tokens, checked_prompt

Real: TypeAlias = np.float64 | np.longdouble
Reals: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[Real]]  # any rank
Rows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[Real]]  # (n_tokens, features)
Heads: TypeAlias = np.ndarray[tuple[int, int, int], np.dtype[Real]]  # (heads, *rows)
Weights: TypeAlias = Mapping[str, Reals]
_Reals = TypeVar("_Reals", bound=Reals)


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """All that one prefix amounts to; masked scores are counted."""

    logits: Rows  # (n_tokens, vocab_size)
    keys: tuple[Heads, ...]  # a block: (n_kv_heads, n_tokens, head_dim), rotated
    values: tuple[Heads, ...]  # a block: (n_kv_heads, n_tokens, head_dim)
    attention_scores: int


@np.errstate(all="ignore")  # every stage's result is judged instead
def replay(
    config: DecoderConfig,
    weights: Weights,
    token_ids: Tokens,
    dtype: type[Real] = np.float64,
) -> Replay:
    """Compute all about a prefix from its tokens alone, every step in ``dtype``."""
    tokens = checked_prompt(config, token_ids)
    weights = {name: np.asarray(value, dtype) for name, value in weights.items()}
    table = weights["token_embedding.weight"]
    x: Rows = _finite((Stage.EMBEDDING, None), np.stack([table[i] for i in tokens]))
    keys, values, attention_scores = [], [], 0
    for layer in range(config.n_layers):
        own = {name.removeprefix(f"blocks.{layer}."): weights[name] for name in weights}
        x, k, v, scores = _attention(config, own, layer, x)
        keys.append(k)
        values.append(v)
        attention_scores += scores.size
        n = _rms_norm((Stage.FFN_NORM, layer), config, x, own["ffn_norm.gain"])
        gate = _finite((Stage.GATE, layer), n @ own["ffn.gate.weight"])
        up = _finite((Stage.UP, layer), n @ own["ffn.up.weight"])
        decay = np.exp(-np.abs(gate))  # overflows for no gate, whatever its sign
        silu = np.where(gate >= 0, gate, gate * decay) / (1 + decay)
        product = _finite((Stage.PRODUCT, layer), silu * up)
        change = _finite((Stage.DOWN, layer), product @ own["ffn.down.weight"])
        x = _finite((Stage.FFN_RESIDUAL, layer), x + change)
    n = _rms_norm((Stage.FINAL_NORM, None), config, x, weights["final_norm.gain"])
    logits = _finite((Stage.LOGITS, None), n @ table.T)
    return Replay(logits, tuple(keys), tuple(values), attention_scores)


def _attention(
    config: DecoderConfig, own: Weights, layer: int, x: Rows
) -> tuple[Rows, Heads, Heads, Heads]:
    """The stream after attention; keys, values and dense grids of scores by head."""
    n = _rms_norm((Stage.ATTENTION_NORM, layer), config, x, own["attention_norm.gain"])
    queries = _finite((Stage.QUERY, layer), n @ own["attention.query.weight"])
    keys = _finite((Stage.KEY, layer), n @ own["attention.key.weight"])
    values = _finite((Stage.VALUE, layer), n @ own["attention.value.weight"])
    q = _rotated((Stage.QUERY_ROTATION, layer), config, queries)
    k = _rotated((Stage.KEY_ROTATION, layer), config, keys)
    v = np.stack(np.split(values, config.n_kv_heads, axis=1))
    scores = np.zeros((config.n_heads, len(x), len(x)), x.dtype)
    shares, mixture = np.zeros_like(scores), np.zeros_like(q)
    for head, position in np.ndindex(config.n_heads, len(x)):
        shared, visible = head // config.group_size, slice(position + 1)
        products = k[shared] @ q[head, position]
        scores[head, position] = products / np.sqrt(x.dtype.type(config.head_dim))
        seen = scores[head, position, visible]
        exponentials = np.exp(seen - seen.max())
        shares[head, position, visible] = exponentials / exponentials.sum()
        mixture[head, position] = shares[head, position, visible] @ v[shared, visible]
    _finite((Stage.SCORES, layer), np.tril(scores))  # nobody looks at the others
    _finite((Stage.WEIGHTS, layer), shares)
    merged = np.concatenate(_finite((Stage.MIXTURE, layer), mixture), axis=1)
    change = _finite((Stage.OUTPUT, layer), merged @ own["attention.output.weight"])
    return _finite((Stage.ATTENTION_RESIDUAL, layer), x + change), k, v, scores


def _rms_norm(place: Place, config: DecoderConfig, x: Rows, gain: Reals) -> Rows:
    epsilon, normed = x.dtype.type(config.rms_epsilon), np.zeros_like(x)
    for position, row in enumerate(x):
        energy: Reals = np.mean(row * row, keepdims=True) + epsilon
        if _finite(place, energy)[0] == 0:
            raise errors.StageFailed(*place) from errors.ZeroEnergyRow(position)
        normed[position] = row / np.sqrt(energy) * gain
    return _finite(place, normed)


def _rotated(place: Place, config: DecoderConfig, x: Rows) -> Heads:
    """The rows by head, each adjacent pair turned by position times frequency."""
    real, width = x.dtype.type, config.head_dim
    frequencies = real(config.rope_base) ** (-np.arange(0, width, 2) / real(width))
    heads: Heads = np.stack(np.split(x, x.shape[1] // width, axis=1))
    for head, position in np.ndindex(len(heads), len(x)):
        angles, row = real(position) * frequencies, heads[head, position].copy()
        cos, sin = np.cos(angles), np.sin(angles)
        heads[head, position, 0::2] = row[0::2] * cos - row[1::2] * sin
        heads[head, position, 1::2] = row[0::2] * sin + row[1::2] * cos
    return _finite(place, heads)


def _finite(place: Place, made: _Reals) -> _Reals:
    if (bad := np.flatnonzero(~np.isfinite(made))).size:
        cause = errors.NonFinite(int(bad[0]), float(made.flat[bad[0]]))
        raise errors.StageFailed(*place) from cause
    return made
