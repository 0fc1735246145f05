"""Loss and exact gradients: a full-prefix forward pass that a library differentiates.

It is a forward pass of its own, because a cached row is computed with buffers and views
that no library differentiates. What depends on a parameter is in truth autograd's box
around an array; ``getval`` looks inside.
"""

import math
from collections.abc import Generator, Iterable, Iterator
from typing import SupportsIndex

import autograd.numpy as np
from autograd.core import VJPNode, backward_pass
from autograd.tracer import Box, getval, new_box

from engine.arrays import Array, Matrix, Vector
from engine.config import DecoderConfig
from engine.decoder import Decoder
from engine.errors import StageFailed, TargetCountMismatch, TargetOutOfRange
from engine.floating import require_finite, silently
from engine.kinds import require_kind
from engine.layers import frequencies, rms_norm
from engine.parameters import held_by
from engine.row import BlockWeights, Weights
from engine.stages import Stage
from engine.tokens import (
    exact_prompt,
    exact_token,
    first_of,
    length_of,
    read_prompt,
    require_fit,
)


def loss_and_gradients(
    decoder: Decoder,
    token_ids: Iterable[SupportsIndex],
    target_ids: Iterable[SupportsIndex],
) -> tuple[float, tuple[Array, ...]]:
    """Mean negative log likelihood of the targets, and its gradients.

    The values of all parameters are read at one moment.

    Args:
        decoder: is only read
        token_ids: (n_tokens,), a context from position 0 on
        target_ids: (n_tokens,), the token that follows each of them

    Returns:
        The loss, and a new array for every parameter, in stable order and its shape.

    Raises:
        RequestError: there is no token, there are more than ``capacity``, not as many
            targets as tokens, or one is not in the vocabulary; nothing changed.
        TypeError: a token or target is no integer; nothing changed.
        StageFailed: a stage, the loss or a gradient could not be computed or is not
            finite; nothing changed.
    """
    require_kind(decoder, Decoder)
    config = decoder.config
    tokens = read_prompt(token_ids, config.capacity)
    require_fit(tokens, config.capacity, token_ids)
    targets = first_of(target_ids, len(tokens) + 1)
    if len(targets) != len(tokens):
        n_targets = length_of(target_ids, len(targets))
        raise TargetCountMismatch(len(tokens), n_targets)
    prompt = exact_prompt(tokens, config.vocab_size)
    expected = _exact_targets(targets, config.vocab_size)
    values = tuple(held.array() for held in held_by(decoder.parameters))
    return silently(_differentiate, config, values, prompt, expected)


def _exact_targets(
    targets: tuple[SupportsIndex, ...], vocab_size: int
) -> tuple[int, ...]:
    exact = []
    for position, target in enumerate(targets):
        token_id = exact_token(target)
        if not 0 <= token_id < vocab_size:
            raise TargetOutOfRange(position, token_id, vocab_size)
        exact.append(token_id)
    return tuple(exact)


def _differentiate(
    config: DecoderConfig,
    values: tuple[Array, ...],
    tokens: tuple[int, ...],
    targets: tuple[int, ...],
) -> tuple[float, tuple[Array, ...]]:
    # autograd.make_vjp would take the level of this trace from a counter that all
    # threads share and that an exception leaves one too high. Levels tell nested traces
    # apart, and none is nested here: a constant serves, and a failure leaves nothing.
    traced = new_box(values, 0, VJPNode.new_root())
    weights = Weights.of(config, [traced[index] for index in range(len(values))])
    loss: Box = _watched(_stages(weights, tokens, targets), weights)
    try:
        # As autograd's own make_vjp does; and copies, so that no two gradients share
        # memory with each other or with a value.
        given = backward_pass(1.0, loss._node)
        gradients = tuple([np.array(gradient) for gradient in given])
        for gradient in gradients:
            require_finite(gradient)
    except Exception as error:
        raise StageFailed(Stage.GRADIENT, None) from error
    return float(getval(loss)), gradients


def _watched(stages: Iterator[Array], weights: Weights) -> Array:
    """The last stage's value, once every stage's value is known to be finite."""
    values = []
    for stage, layer in (*weights.places, (Stage.LOSS, None)):
        try:
            values.append(next(stages))
            require_finite(getval(values[-1]))
        except Exception as error:
            raise StageFailed(stage, layer) from error
    return values[-1]


def _stages(
    weights: Weights, tokens: tuple[int, ...], targets: tuple[int, ...]
) -> Iterator[Array]:
    """Compute all positions stage by stage, giving each value, the loss at the end."""
    config = weights.config
    epsilon = config.rms_epsilon
    turns = frequencies(config.head_dim, config.rope_base)
    angles = np.outer(np.arange(len(tokens)), turns)
    x: Matrix = weights.embedding[np.array(tokens)]
    yield x
    for block in weights.blocks:
        normed = _rms_norm(x, block.attention_norm, epsilon)
        yield normed
        x = x + (yield from _attention(normed, block, config, angles))
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
    normed: Matrix, block: BlockWeights, config: DecoderConfig, angles: Matrix
) -> Generator[Array, None, Matrix]:
    """Causal attention; heads are (n_kv_heads, group_size or 1, n_tokens, head_dim)."""
    n_tokens = len(normed)
    queries = _split_heads(np.matmul(normed, block.query), config)
    yield queries
    keys = _split_heads(np.matmul(normed, block.key), config)
    yield keys
    values = _split_heads(np.matmul(normed, block.value), config)
    yield values
    queries = _rotate(queries, angles)
    yield queries
    keys = _rotate(keys, angles)
    yield keys
    products = np.matmul(queries, np.swapaxes(keys, -1, -2))
    visible = np.tri(n_tokens, dtype=bool)
    # A score that no position sees may be anything, so it is made 0 before judging.
    scores = np.where(visible, products / math.sqrt(config.head_dim), 0.0)
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
    mean_squares = np.mean(x * x, axis=-1, keepdims=True)
    normed: Matrix = x / np.sqrt(mean_squares + epsilon) * gain
    return normed


def _split_heads(rows: Matrix, config: DecoderConfig) -> Array:
    """(n_tokens, features) -> (n_kv_heads, group_size or 1, n_tokens, head_dim)."""
    shape = (len(rows), config.n_kv_heads, -1, config.head_dim)
    heads: Array = np.transpose(np.reshape(rows, shape), (1, 2, 0, 3))
    return heads


def _rotate(heads: Array, angles: Matrix) -> Array:
    """Turn each adjacent pair of features; angles: (n_tokens, head_dim / 2)."""
    pairs = np.reshape(heads, (*heads.shape[:-1], -1, 2))
    first, second = pairs[..., 0], pairs[..., 1]
    cosines, sines = np.cos(angles), np.sin(angles)
    turned = (first * cosines - second * sines, first * sines + second * cosines)
    rotated: Array = np.reshape(np.stack(turned, axis=-1), heads.shape)
    return rotated


def _masked_softmax(scores: Array, visible: Array) -> Array:
    """Weights of the visible scores; the others get exactly 0, in the gradient too."""
    # Shifting a row by a constant changes neither the weights nor their derivatives.
    # The mask lies inside the exponential: outside, 0 times infinity would be NaN.
    peaks = np.max(np.where(visible, getval(scores), -np.inf), axis=-1, keepdims=True)
    exponentials = np.exp(np.where(visible, scores - peaks, -np.inf))
    weights: Array = exponentials / np.sum(exponentials, axis=-1, keepdims=True)
    return weights


def _sigmoid(gate: Matrix) -> Matrix:
    """The logistic function, by exponents that are never positive."""
    is_positive = getval(gate) > 0
    small = np.exp(np.where(is_positive, -gate, gate))
    sigmoid: Matrix = np.where(is_positive, 1.0, small) / (1.0 + small)
    return sigmoid


def _mean_negative_log_likelihood(logits: Matrix, targets: Array) -> Array:
    """The loss, of rank 0, from the logarithm of a softmax."""
    shifted = logits - np.max(getval(logits), axis=-1, keepdims=True)
    log_sums = np.log(np.sum(np.exp(shifted), axis=-1))
    loss: Array = np.mean(log_sums - shifted[np.arange(len(targets)), targets])
    return loss
