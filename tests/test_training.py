"""Loss and gradients: what they are, and what is refused.

That the gradients are right is shown by central differences in a file of their own.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from engine.cache import KVCache
from engine.errors import (
    EmptyPrompt,
    PromptTokenOutOfRange,
    PromptTooLong,
    TargetCountMismatch,
    TargetOutOfRange,
)
from engine.parameters import held_by
from engine.training import loss_and_gradients
from tests.models import GROUPED, TINY, decoder_of

pytestmark = pytest.mark.usefixtures("leaves_no_global_trace")


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("n_layers", [0, 1, 2])
def test_loss_is_that_of_the_sessions_logits(n_kv_heads: int, n_layers: int) -> None:
    decoder = decoder_of(replace(GROUPED, n_kv_heads=n_kv_heads, n_layers=n_layers))
    tokens, targets = [2, 0, 1], [0, 1, 1]
    with KVCache(decoder).bind(decoder) as session:
        rows = [session.prefill(tokens[:1]).logits]
        rows += [session.decode(token_id).logits for token_id in tokens[1:]]
    likelihoods = [
        row[target] - math.log(np.exp(row).sum())
        for row, target in zip(rows, targets, strict=True)
    ]
    loss, _ = loss_and_gradients(decoder, tokens, targets)

    assert type(loss) is float
    assert loss == pytest.approx(-np.mean(likelihoods), rel=1e-14)


def test_gradients_are_new_arrays_in_stable_order() -> None:
    decoder = decoder_of(replace(TINY, d_model=4, n_heads=2))
    _, gradients = loss_and_gradients(decoder, [2, 0], [0, 1])

    assert [gradient.shape for gradient in gradients] == [
        parameter.value.shape for parameter in decoder.parameters
    ]
    assert {gradient.dtype for gradient in gradients} == {np.dtype(np.float64)}
    assert all(gradient.flags.owndata for gradient in gradients)


def test_gradient_of_a_lone_position_reaches_no_query_or_key() -> None:
    decoder = decoder_of()
    _, gradients = loss_and_gradients(decoder, [0], [1])

    # Parameters 2 and 3: with one visible position its weight is 1, whatever they are.
    assert not gradients[2].any()
    assert not gradients[3].any()
    assert gradients[4].any()


def test_gradients_are_the_same_bits_twice() -> None:
    decoder = decoder_of()
    first, once = loss_and_gradients(decoder, [0, 1], [1, 2])
    second, again = loss_and_gradients(decoder, iter([0, 1]), iter([1, 2]))

    assert first == second
    assert [one.tobytes() for one in once] == [other.tobytes() for other in again]


def test_gradients_change_nothing() -> None:
    decoder = decoder_of()
    before = held_by(decoder.parameters)
    loss_and_gradients(decoder, [0, 1], [1, 2])

    assert held_by(decoder.parameters) == before


# What must be refused, leaving no trace. Every case has all the later faults too.


@pytest.mark.parametrize(
    ("tokens", "targets", "error", "arguments"),
    [
        ([], [3], EmptyPrompt, ()),
        ([3, 0, 0, 0, 0], [3], PromptTooLong, (5, 4)),
        ([0, 3], [3], TargetCountMismatch, (2, 1)),
        ([0], [], TargetCountMismatch, (1, 0)),
        ([0, 3], [3, True], PromptTokenOutOfRange, (1, 3, 3)),
        ([-1, True], [3, True], PromptTokenOutOfRange, (0, -1, 3)),
        ([True, 3], [3, 3], TypeError, None),
        ([0, 1], [0, 3], TargetOutOfRange, (1, 3, 3)),
        ([0, 1], [-1, True], TargetOutOfRange, (0, -1, 3)),
        ([0, 1], [1.0, 3], TypeError, None),
    ],
)
def test_training_refuses(
    tokens: Sequence[int],
    targets: Sequence[int],
    error: type[Exception],
    arguments: tuple[int, ...] | None,
) -> None:
    decoder = decoder_of()
    before = held_by(decoder.parameters)

    with pytest.raises(error) as refusal:
        loss_and_gradients(decoder, tokens, targets)

    assert arguments is None or refusal.value.args == arguments
    assert held_by(decoder.parameters) == before
