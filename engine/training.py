"""Loss and exact gradients: a library differentiates the forward pass."""

from collections.abc import Iterable, Iterator
from typing import SupportsIndex

import autograd.numpy as np
from autograd.core import VJPNode, backward_pass
from autograd.tracer import Box, getval, new_box

from engine.arrays import Array
from engine.config import DecoderConfig
from engine.decoder import Decoder
from engine.differentiable import stages
from engine.errors import StageFailed, TargetCountMismatch, TargetOutOfRange
from engine.floating import require_finite, silently
from engine.kinds import require_kind
from engine.parameters import held_by
from engine.row import Weights
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
    loss: Box = _watched(stages(weights, tokens, targets), weights)
    try:
        # As autograd's own make_vjp does; and copies, so that no two gradients share
        # memory with each other or with a value.
        one = config.float_type(1)  # a wider one would widen every gradient
        given = backward_pass(one, loss._node)
        gradients = tuple([np.array(gradient) for gradient in given])
        for gradient in gradients:
            require_finite(gradient)
    except Exception as error:
        raise StageFailed(Stage.GRADIENT, None) from error
    return float(getval(loss)), gradients


def _watched(made: Iterator[Array], weights: Weights) -> Array:
    """The last stage's value, once every stage's value is known to be finite."""
    values = []
    for stage, layer in (*weights.places, (Stage.LOSS, None)):
        try:
            values.append(next(made))
            require_finite(getval(values[-1]))
        except Exception as error:
            raise StageFailed(stage, layer) from error
    return values[-1]
