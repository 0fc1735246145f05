"""Where training fails, what does not fail it, and that a failure leaves no trace."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import autograd.numpy
import numpy as np
import pytest

import engine.training
from engine.arrays import Array, Numbers
from engine.config import DecoderConfig
from engine.decoder import Decoder, layout
from engine.errors import NonFinite, StageFailed, ZeroEnergyRow
from engine.parameters import Parameter, held_by
from engine.stages import Stage
from engine.training import loss_and_gradients
from tests.models import EMBEDDING, NO_BLOCKS, TINY, decoder_of

_Value: TypeAlias = Numbers | float

_LARGE = 1.5e308

pytestmark = pytest.mark.usefixtures("leaves_no_global_trace")


def _decoder(config: DecoderConfig, values: Mapping[str, _Value] = {}) -> Decoder:
    """Some values by name; the other matrices are ones, and gains are 1."""
    return Decoder(
        config,
        (
            Parameter(name, np.broadcast_to(values.get(name, 1.0), shape))
            for name, shape in layout(config)
        ),
    )


def test_callers_floating_point_settings_do_not_matter() -> None:
    """The gate's exponential underflows, which ``raise`` would make an exception."""
    decoder = _decoder(TINY, {"blocks.0.ffn.gate.weight": -400.0})
    with np.errstate(all="raise"):
        loss, _ = loss_and_gradients(decoder, [0], [1])

    assert loss == pytest.approx(math.log(3))


def test_scores_that_no_position_sees_may_overflow() -> None:
    """Query 0 times key 1 is infinite, but position 0 sees key 0 only."""
    decoder = _decoder(
        TINY,
        {
            EMBEDDING: [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
            "blocks.0.attention.query.weight": [[1e200, 0.0], [0.0, 0.0]],
            "blocks.0.attention.key.weight": [[1.0, 0.0], [1e200, 0.0]],
            "blocks.0.attention.value.weight": 0.0,
        },
    )
    loss, gradients = loss_and_gradients(decoder, [0, 1], [1, 2])

    assert math.isfinite(loss)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


# Where it fails: the first stage whose value is not finite.

_FAILING: Mapping[str, tuple[Stage, int | None, Mapping[str, _Value]]] = {
    "infinite_energy": (Stage.ATTENTION_NORM, 0, {EMBEDDING: 1e200}),
    "norm": (
        Stage.ATTENTION_NORM,
        0,
        {"blocks.0.attention_norm.gain": _LARGE, EMBEDDING: [[0.0, 1.0]] * 3},
    ),
    "query": (Stage.QUERY, 0, {"blocks.0.attention.query.weight": _LARGE}),
    "key": (Stage.KEY, 0, {"blocks.0.attention.key.weight": _LARGE}),
    "value": (Stage.VALUE, 0, {"blocks.0.attention.value.weight": _LARGE}),
    "query_rotation": (
        Stage.QUERY_ROTATION,
        0,
        {"blocks.0.attention.query.weight": [[1.0, 0.8e308], [-_LARGE, 0.8e308]]},
    ),
    "key_rotation": (
        Stage.KEY_ROTATION,
        0,
        {"blocks.0.attention.key.weight": [[1.0, 0.8e308], [-_LARGE, 0.8e308]]},
    ),
    "scores": (
        Stage.SCORES,
        0,
        {
            "blocks.0.attention.query.weight": 1e160,
            "blocks.0.attention.key.weight": 1e160,
        },
    ),
    "output": (Stage.OUTPUT, 0, {"blocks.0.attention.output.weight": _LARGE}),
    "ffn_norm": (Stage.FFN_NORM, 0, {"blocks.0.attention.output.weight": 1e200}),
    "gate": (Stage.GATE, 0, {"blocks.0.ffn.gate.weight": _LARGE}),
    "up": (Stage.UP, 0, {"blocks.0.ffn.up.weight": _LARGE}),
    "product": (
        Stage.PRODUCT,
        0,
        {"blocks.0.ffn.gate.weight": 1e200, "blocks.0.ffn.up.weight": 1e200},
    ),
    "down": (Stage.DOWN, 0, {"blocks.0.ffn.down.weight": _LARGE}),
    "final_norm": (Stage.FINAL_NORM, None, {"blocks.0.ffn.down.weight": 1e200}),
    "logits": (Stage.LOGITS, None, {"final_norm.gain": _LARGE}),
    "loss": (
        Stage.LOSS,
        None,
        {
            EMBEDDING: [[1.0, 0.0], [-1.0, 0.0], [1.0, 1.0]],
            "final_norm.gain": 1.2e308,
            "blocks.0.attention.output.weight": 0.0,
            "blocks.0.ffn.down.weight": 0.0,
        },
    ),
}


@pytest.mark.parametrize("case", _FAILING)
def test_training_names_the_stage_that_fails(case: str) -> None:
    stage, layer, values = _FAILING[case]
    decoder = _decoder(TINY, values)
    before = held_by(decoder.parameters)

    failure = _failure(decoder, [0, 0], [1, 1])

    assert (failure.stage, failure.layer) == (stage, layer)
    assert isinstance(failure.__cause__, NonFinite)
    assert held_by(decoder.parameters) == before


def test_training_names_the_value_that_is_not_finite() -> None:
    weight = [[0.0, 0.0], [0.0, _LARGE]]
    values = {"blocks.0.attention.value.weight": weight, EMBEDDING: [[0.0, 1.0]] * 3}

    failure = _failure(_decoder(TINY, values), [0], [1])

    assert isinstance(failure.__cause__, NonFinite)
    assert failure.__cause__.args == (1, math.inf)


def test_training_names_the_row_without_energy() -> None:
    rows = [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]

    failure = _failure(
        _decoder(replace(TINY, rms_epsilon=0.0), {EMBEDDING: rows}),
        [0, 1, 1],
        [1, 1, 1],
    )

    assert failure.args == (Stage.ATTENTION_NORM, 0)
    assert isinstance(failure.__cause__, ZeroEnergyRow)
    assert failure.__cause__.row == 1


def test_training_names_a_gradient_that_is_not_finite() -> None:
    """The loss is finite, but its slope is more than the largest float."""
    decoder = _decoder(
        NO_BLOCKS,
        {EMBEDDING: [[1e-3, 0.0], [0.0, 1e-3], [0.0, 0.0]], "final_norm.gain": 1e308},
    )

    failure = _failure(decoder, [0, 1], [1, 0])

    assert failure.args == (Stage.GRADIENT, None)
    assert isinstance(failure.__cause__, NonFinite)


# What a library raises, and an interrupt.


def _raising(error: BaseException) -> Callable[..., Array]:
    def fail(*_: object, **__: object) -> Array:
        raise error

    return fail


def test_forward_exception_fails_its_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    error = MemoryError()
    monkeypatch.setattr(autograd.numpy, "exp", _raising(error))

    failure = _failure(_decoder(TINY), [0], [1])

    assert failure.args == (Stage.WEIGHTS, 0)
    assert failure.__cause__ is error


def test_backward_exception_fails_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    error = MemoryError()
    monkeypatch.setattr(engine.training, "backward_pass", _raising(error))

    failure = _failure(_decoder(TINY), [0], [1])

    assert failure.args == (Stage.GRADIENT, None)
    assert failure.__cause__ is error


@pytest.mark.parametrize("name", ["exp", "log"])
def test_interrupt_passes_and_training_works_on(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    decoder = decoder_of()
    expected, _ = loss_and_gradients(decoder, [0, 1], [1, 2])
    with monkeypatch.context() as patch:
        patch.setattr(autograd.numpy, name, _raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            loss_and_gradients(decoder, [0, 1], [1, 2])
    loss, _ = loss_and_gradients(decoder, [0, 1], [1, 2])

    assert loss == expected


def _failure(
    decoder: Decoder, tokens: Sequence[int], targets: Sequence[int]
) -> StageFailed:
    with pytest.raises(StageFailed) as failure:
        loss_and_gradients(decoder, tokens, targets)
    return failure.value
