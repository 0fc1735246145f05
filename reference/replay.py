"""The decoder made naive on purpose: every call replays the complete prefix."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from engine import errors
from engine.config import DecoderConfig
from engine.stages import Place, Stage
from reference.tokens import Tokens, checked_prompt

Real: TypeAlias = np.float32 | np.float64 | np.longdouble
Reals: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[Real]]  # any rank
Rows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[Real]]  # (n_tokens, features)
Heads: TypeAlias = np.ndarray[tuple[int, int, int], np.dtype[Real]]  # (heads, *rows)
Weights: TypeAlias = Mapping[str, Reals]
Record: TypeAlias = Callable[[Place, Reals], object]
_Reals = TypeVar("_Reals", bound=Reals)


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """All that one prefix amounts to; masked scores are counted."""

    logits: Rows  # (n_tokens, vocab_size)
    keys: tuple[Heads, ...]  # a block: (n_kv_heads, n_tokens, head_dim), rotated
    values: tuple[Heads, ...]  # a block: (n_kv_heads, n_tokens, head_dim)
    attention_scores: int


def replay(
    config: DecoderConfig,
    weights: Weights,
    token_ids: Tokens,
    dtype: type[Real] | None = None,
    record: Record = lambda place, value: None,  # noqa: ARG005 # nobody asks
) -> Replay:
    """Compute all about a prefix from its tokens alone, every step in ``dtype``.

    Without one, in the configuration's. ``record`` gets every stage's values of all
    positions: rows (n_tokens, features), or (heads, n_tokens, …) from the rotations to
    the mixture.
    """
    tokens = checked_prompt(config, token_ids)
    real = config.float_type if dtype is None else dtype
    given: Weights = {name: np.asarray(each, real) for name, each in weights.items()}
    with np.errstate(all="ignore"):  # every stage's result is judged instead
        return _Pass(config, given, record).all_of(tokens)


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """One pass through all stages."""

    config: DecoderConfig
    weights: Weights
    record: Record

    def all_of(self, tokens: tuple[int, ...]) -> Replay:
        config, weights = self.config, self.weights
        table = weights["token_embedding.weight"]
        embedded = np.stack([table[i] for i in tokens])
        x: Rows = self.seen((Stage.EMBEDDING, None), embedded)
        keys, values, attention_scores = [], [], 0
        for layer in range(config.n_layers):
            start = f"blocks.{layer}."
            own = {name.removeprefix(start): weights[name] for name in weights}
            x, k, v, scores = self.attention(own, layer, x)
            keys.append(k)
            values.append(v)
            attention_scores += scores.size
            n = self.rms_norm((Stage.FFN_NORM, layer), x, own["ffn_norm.gain"])
            gate = self.seen((Stage.GATE, layer), n @ own["ffn.gate.weight"])
            up = self.seen((Stage.UP, layer), n @ own["ffn.up.weight"])
            decay = np.exp(-np.abs(gate))  # overflows for no gate, whatever its sign
            silu = np.where(gate >= 0, gate, gate * decay) / (1 + decay)
            product = self.seen((Stage.PRODUCT, layer), silu * up)
            change = self.seen((Stage.DOWN, layer), product @ own["ffn.down.weight"])
            x = self.seen((Stage.FFN_RESIDUAL, layer), x + change)
        n = self.rms_norm((Stage.FINAL_NORM, None), x, weights["final_norm.gain"])
        logits = self.seen((Stage.LOGITS, None), n @ table.T)
        return Replay(logits, tuple(keys), tuple(values), attention_scores)

    def attention(
        self, own: Weights, layer: int, x: Rows
    ) -> tuple[Rows, Heads, Heads, Heads]:
        """The stream after attention; keys, values and dense scores by head."""
        config, seen = self.config, self.seen
        n = self.rms_norm((Stage.ATTENTION_NORM, layer), x, own["attention_norm.gain"])
        queries = seen((Stage.QUERY, layer), n @ own["attention.query.weight"])
        keys = seen((Stage.KEY, layer), n @ own["attention.key.weight"])
        values = seen((Stage.VALUE, layer), n @ own["attention.value.weight"])
        q = self.rotated((Stage.QUERY_ROTATION, layer), queries)
        k = self.rotated((Stage.KEY_ROTATION, layer), keys)
        v = np.stack(np.split(values, config.n_kv_heads, axis=1))
        scores = np.zeros((config.n_heads, len(x), len(x)), x.dtype)
        shares, mixture = np.zeros_like(scores), np.zeros_like(q)
        for head, position in np.ndindex(config.n_heads, len(x)):
            shared, visible = head // config.group_size, slice(position + 1)
            products = k[shared] @ q[head, position]
            scores[head, position] = products / np.sqrt(x.dtype.type(config.head_dim))
            some = scores[head, position, visible]
            exponentials = np.exp(some - some.max())
            share = exponentials / exponentials.sum()
            shares[head, position, visible] = share
            mixture[head, position] = share @ v[shared, visible]
        seen((Stage.SCORES, layer), np.tril(scores))  # nobody looks at the others
        seen((Stage.WEIGHTS, layer), shares)
        merged = np.concatenate(seen((Stage.MIXTURE, layer), mixture), axis=1)
        change = seen((Stage.OUTPUT, layer), merged @ own["attention.output.weight"])
        return seen((Stage.ATTENTION_RESIDUAL, layer), x + change), k, v, scores

    def rms_norm(self, place: Place, x: Rows, gain: Reals) -> Rows:
        given = self.config.float_type(self.config.rms_epsilon)
        epsilon, normed = x.dtype.type(given), np.zeros_like(x)
        for position, row in enumerate(x):
            energy: Reals = np.mean(row * row, keepdims=True) + epsilon
            if _finite(place, energy)[0] == 0:
                raise errors.StageFailed(*place) from errors.ZeroEnergyRow(position)
            normed[position] = row / np.sqrt(energy) * gain
        return self.seen(place, normed)

    def rotated(self, place: Place, x: Rows) -> Heads:
        """The rows by head, each adjacent pair turned by position times frequency.

        No angle is rounded to less than binary64, only its cosine and sine are.
        """
        real, width = x.dtype.type, self.config.head_dim
        wide = np.promote_types(x.dtype, np.float64).type
        frequencies = wide(self.config.rope_base) ** (
            -np.arange(0, width, 2) / wide(width)
        )
        heads: Heads = np.stack(np.split(x, x.shape[1] // width, axis=1))
        for head, position in np.ndindex(len(heads), len(x)):
            angles, row = wide(position) * frequencies, heads[head, position].copy()
            cos, sin = real(np.cos(angles)), real(np.sin(angles))
            heads[head, position, 0::2] = row[0::2] * cos - row[1::2] * sin
            heads[head, position, 1::2] = row[0::2] * sin + row[1::2] * cos
        return self.seen(place, heads)

    def seen(self, place: Place, made: _Reals) -> _Reals:
        """A stage's values, judged and recorded."""
        self.record(place, _finite(place, made))
        return made


def _finite(place: Place, made: _Reals) -> _Reals:
    if (bad := np.flatnonzero(~np.isfinite(made))).size:
        cause = errors.NonFinite(int(bad[0]), float(made.flat[bad[0]]))
        raise errors.StageFailed(*place) from cause
    return made
