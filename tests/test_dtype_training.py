"""Loss and gradients of a float32 decoder."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import pytest
from autograd.core import VJPNode, backward_pass, toposort

from engine import (
    DecoderConfig,
    KVCache,
    loss_and_gradients,
)
from engine.arrays import Array, DType
from engine.differentiable import stages
from engine.layers import rotate, rotation
from engine.parameters import held_by
from engine.row import Weights
from tests.models import GROUPED, SINGLE, World, decoder_of, widened

UNIT: Final = float(np.finfo(np.float32).eps) / 2
Derive: TypeAlias = Callable[[Array], Iterable[Array]]

TOKENS: Final = ([2, 0, 1], [0, 1, 1])


def weights_of(config: DecoderConfig) -> Weights:
    return Weights.of(config, [each.value for each in decoder_of(config).parameters])


@pytest.mark.parametrize("n_layers", [0, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_stage_of_a_loss_has_the_dtype(dtype: DType, n_layers: int) -> None:
    weights = weights_of(replace(GROUPED, dtype=dtype, n_layers=n_layers))
    made = list(stages(weights, (2, 0, 1), (0, 1, 1)))

    assert [each.dtype.name for each in made] == len(made) * [dtype]


def test_training_rotates_far_positions_as_a_row_does() -> None:
    """An angle of float32 would be off by 1e-4 there."""
    config, last = replace(SINGLE, d_model=32), 4096
    weights = weights_of(config)
    made = stages(weights, tuple(i % 3 for i in range(last + 1)), ())
    _, _, _, keys, _, _, turned = (next(made) for _ in range(7))
    row = np.ascontiguousarray(keys[:, 0, last])
    unit = rotation(last, config.head_dim, config.rope_base, "float32")

    np.testing.assert_allclose(
        turned[:, 0, last], rotate(row, unit), rtol=0, atol=4 * UNIT * np.abs(row).max()
    )


def test_derivatives_have_the_dtype_all_the_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where autograd gives float64, its numbers are only handed on, as they are."""
    is_wide = list[bool]()

    def watched(derive: Derive, given: Array) -> Iterable[Array]:
        made = tuple(derive(given))
        is_wide.append(getattr(given, "dtype", None) == np.float64)
        for each in made if is_wide[-1] else ():
            assert each.dtype == np.float32
            np.testing.assert_array_equal(each, given)
        return made

    def backward(one: Array, end: VJPNode) -> object:
        for node in toposort(end):
            node.vjp = partial(watched, node.vjp)
        return backward_pass(one, end)

    monkeypatch.setattr("engine.training.backward_pass", backward)
    loss_and_gradients(decoder_of(SINGLE), *TOKENS)

    assert len(is_wide) > 10 * sum(is_wide) > 0


@pytest.mark.parametrize("n_layers", [0, 2])
def test_loss_and_gradients_are_those_of_float64_within_some_roundings(
    n_layers: int,
) -> None:
    decoder = decoder_of(replace(SINGLE, n_layers=n_layers))
    loss, gradients = loss_and_gradients(decoder, *TOKENS)
    wide_loss, wide = loss_and_gradients(widened(decoder), *TOKENS)

    assert type(loss) is float
    assert loss == float(np.float32(loss)) == pytest.approx(wide_loss, rel=16 * UNIT)
    assert {each.dtype.name for each in gradients} == {"float32"}
    for gradient, expected in zip(gradients, wide, strict=True):
        bound = 128 * UNIT * max(np.abs(each).max() for each in wide)
        np.testing.assert_allclose(gradient, expected, rtol=0, atol=bound)


def test_gradients_of_a_loss_can_be_stepped_on() -> None:
    world = World.closed(SINGLE)
    _, gradients = loss_and_gradients(world.decoder, *TOKENS)
    before = held_by(world.decoder.parameters)
    world.optimizer.step(world.decoder.parameters, gradients)

    assert held_by(world.decoder.parameters) != before
    for parameter, moment in zip(
        world.decoder.parameters, world.optimizer.snapshot().moments, strict=True
    ):
        assert parameter.value.dtype.name == moment.dtype == "float32"
        assert {each.dtype.name for each in moment.arrays()} == {"float32"}
        assert len(moment.first) == len(moment.second) == 4 * parameter.value.size
    with KVCache(world.decoder).bind(world.decoder) as session:
        assert session.prefill((0, 1)).logits.dtype == np.float32
