"""The forward pass that a library differentiates: all positions of a prefix at once.

It is a pass of its own, because a cached row is computed with buffers and views that no
library differentiates. What depends on a parameter is in truth autograd's box around an
array; ``getval`` looks inside. Derivatives have the decoder's dtype all the way, so two
of autograd's that would be float64 are gone round.
"""

import math
from collections.abc import Generator, Iterator
from typing import TypeAlias

import autograd.numpy as np
from autograd.tracer import getval

from engine.arrays import Array, Matrix, Vector
from engine.config import DecoderConfig
from engine.layers import frequencies, rms_norm
from engine.row import BlockWeights, Weights

_Unit: TypeAlias = tuple[Matrix, Matrix]  # cosines and sines of every position


def stages(
    weights: Weights, tokens: tuple[int, ...], targets: tuple[int, ...]
) -> Iterator[Array]:
    """Compute all positions stage by stage, giving each value, the loss at the end.

    Args:
        weights: read as boxes, if they are to be differentiated
        tokens: (n_tokens,)
        targets: (n_tokens,)
    """
    config = weights.config
    epsilon = weights.epsilon
    turns = frequencies(config.head_dim, config.rope_base)
    angles = np.outer(np.arange(len(tokens)), turns)
    # Computed in binary64 and rounded once, as the rotation of a row.
    unit = (np.cos(angles).astype(config.dtype), np.sin(angles).astype(config.dtype))
    x: Matrix = weights.embedding[np.array(tokens)]
    yield x
    for block in weights.blocks:
        normed = _rms_norm(x, block.attention_norm, epsilon)
        yield normed
        x = x + (yield from _attention(normed, block, config, unit))
        yield x
        normed = _rms_norm(x, block.ffn_norm, epsilon)
        yield normed
        x = x + (yield from _feed_forward(normed, block))
        yield x
    normed = _rms_norm(x, weights.final_norm, epsilon)
    yield normed
    logits: Matrix = np.matmul(normed, weights.embedding.T)
    yield logits
    yield _mean_negative_log_likelihood(logits, np.array(targets))


def _attention(
    normed: Matrix, block: BlockWeights, config: DecoderConfig, unit: _Unit
) -> Generator[Array, None, Matrix]:
    """Causal attention; heads are (n_kv_heads, group_size or 1, n_tokens, head_dim)."""
    n_tokens = len(normed)
    queries = _split_heads(np.matmul(normed, block.query), config)
    yield queries
    keys = _split_heads(np.matmul(normed, block.key), config)
    yield keys
    values = _split_heads(np.matmul(normed, block.value), config)
    yield values
    queries = _rotate(queries, unit)
    yield queries
    keys = _rotate(keys, unit)
    yield keys
    products = np.matmul(queries, np.swapaxes(keys, -1, -2))
    visible = np.tri(n_tokens, dtype=bool)
    # A score that no position sees may be anything, so it is made 0 before judging.
    scores = _where(visible, products / math.sqrt(config.head_dim), 0.0)
    yield scores
    weights = _masked_softmax(scores, visible)
    yield weights
    mixture = np.matmul(weights, values)
    yield mixture
    # (n_kv_heads, group_size, n_tokens, head_dim) -> (n_tokens, d_model)
    merged = np.reshape(np.transpose(mixture, (2, 0, 1, 3)), (n_tokens, -1))
    output: Matrix = np.matmul(merged, block.output)
    yield output
    return output


def _feed_forward(
    normed: Matrix, block: BlockWeights
) -> Generator[Array, None, Matrix]:
    gate = np.matmul(normed, block.gate)
    yield gate
    up = np.matmul(normed, block.up)
    yield up
    product = gate * _sigmoid(gate) * up
    yield product
    down: Matrix = np.matmul(product, block.down)
    yield down
    return down


def _rms_norm(x: Matrix, gain: Vector, epsilon: float) -> Matrix:
    # The row's own norm refuses what cannot be normalized, so that both agree on it.
    for position, row in enumerate(getval(x)):
        rms_norm(row, getval(gain), epsilon, position)
    # Not ``np.mean``, whose derivative is of float64 whatever it is given.
    mean_squares = np.sum(x * x, axis=-1, keepdims=True) / x.shape[-1]
    normed: Matrix = x / np.sqrt(mean_squares + epsilon) * gain
    return normed


def _split_heads(rows: Matrix, config: DecoderConfig) -> Array:
    """(n_tokens, features) -> (n_kv_heads, group_size or 1, n_tokens, head_dim)."""
    shape = (len(rows), config.n_kv_heads, -1, config.head_dim)
    heads: Array = np.transpose(np.reshape(rows, shape), (1, 2, 0, 3))
    return heads


def _rotate(heads: Array, unit: _Unit) -> Array:
    """Turn each adjacent pair of features; unit: (n_tokens, head_dim / 2) each."""
    pairs = np.reshape(heads, (*heads.shape[:-1], -1, 2))
    first, second = pairs[..., 0], pairs[..., 1]
    cosines, sines = unit
    turned = (first * cosines - second * sines, first * sines + second * cosines)
    rotated: Array = np.reshape(np.stack(turned, axis=-1), heads.shape)
    return rotated


def _masked_softmax(scores: Array, visible: Array) -> Array:
    """Weights of the visible scores; the others get exactly 0, in the gradient too."""
    # Shifting a row by a constant changes neither the weights nor their derivatives.
    # The mask lies inside the exponential: outside, 0 times infinity would be NaN.
    peaks = np.max(np.where(visible, getval(scores), -np.inf), axis=-1, keepdims=True)
    exponentials = np.exp(_where(visible, scores - peaks, -np.inf))
    weights: Array = exponentials / np.sum(exponentials, axis=-1, keepdims=True)
    return weights


def _sigmoid(gate: Matrix) -> Matrix:
    """The logistic function, by exponents that are never positive."""
    is_positive = getval(gate) > 0
    small = np.exp(_where(is_positive, -gate, gate))
    sigmoid: Matrix = _where(is_positive, 1.0, small) / (1.0 + small)
    return sigmoid


def _mean_negative_log_likelihood(logits: Matrix, targets: Array) -> Array:
    """The loss, of rank 0, from the logarithm of a softmax."""
    shifted = logits - np.max(getval(logits), axis=-1, keepdims=True)
    log_sums = np.log(np.sum(np.exp(shifted), axis=-1))
    losses = log_sums - shifted[np.arange(len(targets)), targets]
    loss: Array = np.sum(losses) / len(targets)
    return loss


def _where(condition: Array, chosen: Array | float, other: Array | float) -> Array:
    """``np.where`` with derivatives of its arguments' dtype.

    Autograd's own are float64; what a copy by ``astype`` hands on has its own again.
    """
    same = [
        each if isinstance(each, float) else each.astype(each.dtype)
        for each in (chosen, other)
    ]
    where: Array = np.where(condition, *same)
    return where
