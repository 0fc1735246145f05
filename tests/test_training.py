"""Loss and gradients: what they are, where they fail, and what a failure leaves.

That the gradients are right is shown by central differences in a file of their own.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import autograd.numpy
import numpy as np
import pytest
from autograd.tracer import trace_stack

import engine.training
from engine.arrays import Array, Numbers
from engine.cache import KVCache
from engine.config import DecoderConfig
from engine.decoder import Decoder, layout
from engine.errors import (
    EmptyPrompt,
    NonFinite,
    PromptTokenOutOfRange,
    PromptTooLong,
    StageFailed,
    TargetCountMismatch,
    TargetOutOfRange,
    ZeroEnergyRow,
)
from engine.parameters import Parameter, held_by
from engine.splitmix import SplitMix64
from engine.stages import Stage
from engine.training import loss_and_gradients

_Value: TypeAlias = Numbers | float

_LARGE = 1.5e308


def _config(
    n_heads: int = 1, n_kv_heads: int = 1, n_layers: int = 1, epsilon: float = 1e-6
) -> DecoderConfig:
    return DecoderConfig(
        vocab_size=3,
        d_model=2 * n_heads,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_ff=2,
        n_layers=n_layers,
        capacity=3,
        rope_base=10_000.0,
        rms_epsilon=epsilon,
    )


def _decoder(config: DecoderConfig, values: Mapping[str, _Value] = {}) -> Decoder:
    """Some values by name; the other matrices are ones, and gains are 1."""
    return Decoder(
        config,
        (
            Parameter(name, np.broadcast_to(values.get(name, 1.0), shape))
            for name, shape in layout(config)
        ),
    )


@pytest.fixture(autouse=True)
def _leaves_no_global_trace() -> Iterator[None]:
    """Whatever a test does: the tracer's counter and NumPy's settings stay."""
    before = (trace_stack.top, np.geterr())
    yield

    assert (trace_stack.top, np.geterr()) == before


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("n_layers", [0, 1, 2])
def test_loss_is_that_of_the_sessions_logits(n_kv_heads: int, n_layers: int) -> None:
    config = _config(n_heads=4, n_kv_heads=n_kv_heads, n_layers=n_layers)
    decoder = Decoder.initialize(config, SplitMix64(38))
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
    decoder = Decoder.initialize(_config(n_heads=2), SplitMix64(38))
    _, gradients = loss_and_gradients(decoder, [2, 0], [0, 1])

    assert [gradient.shape for gradient in gradients] == [
        parameter.value.shape for parameter in decoder.parameters
    ]
    assert {gradient.dtype for gradient in gradients} == {np.dtype(np.float64)}
    assert all(gradient.flags.owndata for gradient in gradients)


def test_gradient_of_a_lone_position_reaches_no_query_or_key() -> None:
    decoder = Decoder.initialize(_config(), SplitMix64(38))
    _, gradients = loss_and_gradients(decoder, [0], [1])

    # Parameters 2 and 3: with one visible position its weight is 1, whatever they are.
    assert not gradients[2].any()
    assert not gradients[3].any()
    assert gradients[4].any()


def test_gradients_are_the_same_bits_twice() -> None:
    decoder = Decoder.initialize(_config(), SplitMix64(38))
    first, once = loss_and_gradients(decoder, [0, 1], [1, 2])
    second, again = loss_and_gradients(decoder, iter([0, 1]), iter([1, 2]))

    assert first == second
    assert [one.tobytes() for one in once] == [other.tobytes() for other in again]


def test_gradients_change_nothing() -> None:
    decoder = Decoder.initialize(_config(), SplitMix64(38))
    before = held_by(decoder.parameters)
    loss_and_gradients(decoder, [0, 1], [1, 2])

    assert held_by(decoder.parameters) == before


def test_callers_floating_point_settings_do_not_matter() -> None:
    """The gate's exponential underflows, which ``raise`` would make an exception."""
    decoder = _decoder(_config(), {"blocks.0.ffn.gate.weight": -400.0})
    with np.errstate(all="raise"):
        loss, _ = loss_and_gradients(decoder, [0], [1])

    assert loss == pytest.approx(math.log(3))


def test_scores_that_no_position_sees_may_overflow() -> None:
    """Query 0 times key 1 is infinite, but position 0 sees key 0 only."""
    decoder = _decoder(
        _config(),
        {
            "token_embedding.weight": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
            "blocks.0.attention.query.weight": [[1e200, 0.0], [0.0, 0.0]],
            "blocks.0.attention.key.weight": [[1.0, 0.0], [1e200, 0.0]],
            "blocks.0.attention.value.weight": 0.0,
        },
    )
    loss, gradients = loss_and_gradients(decoder, [0, 1], [1, 2])

    assert math.isfinite(loss)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


# What must be refused, leaving no trace. Every case has all the later faults too.


@pytest.mark.parametrize(
    ("tokens", "targets", "error", "arguments"),
    [
        ([], [3], EmptyPrompt, ()),
        ([3, 0, 0, 0], [3], PromptTooLong, (4, 3)),
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
    decoder = Decoder.initialize(_config(), SplitMix64(38))
    before = held_by(decoder.parameters)

    with pytest.raises(error) as refusal:
        loss_and_gradients(decoder, tokens, targets)

    assert arguments is None or refusal.value.args == arguments
    assert held_by(decoder.parameters) == before


# Where it fails: the first stage whose value is not finite.

_EMBEDDING = "token_embedding.weight"
_FAILING: Mapping[str, tuple[Stage, int | None, Mapping[str, _Value]]] = {
    "infinite_energy": (Stage.ATTENTION_NORM, 0, {_EMBEDDING: 1e200}),
    "norm": (
        Stage.ATTENTION_NORM,
        0,
        {"blocks.0.attention_norm.gain": _LARGE, _EMBEDDING: [[0.0, 1.0]] * 3},
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
            _EMBEDDING: [[1.0, 0.0], [-1.0, 0.0], [1.0, 1.0]],
            "final_norm.gain": 1.2e308,
            "blocks.0.attention.output.weight": 0.0,
            "blocks.0.ffn.down.weight": 0.0,
        },
    ),
}


@pytest.mark.parametrize("case", _FAILING)
def test_training_names_the_stage_that_fails(case: str) -> None:
    stage, layer, values = _FAILING[case]
    decoder = _decoder(_config(), values)
    before = held_by(decoder.parameters)

    failure = _failure(decoder, [0, 0], [1, 1])

    assert (failure.stage, failure.layer) == (stage, layer)
    assert isinstance(failure.__cause__, NonFinite)
    assert held_by(decoder.parameters) == before


def test_training_names_the_value_that_is_not_finite() -> None:
    weight = [[0.0, 0.0], [0.0, _LARGE]]
    values = {"blocks.0.attention.value.weight": weight, _EMBEDDING: [[0.0, 1.0]] * 3}

    failure = _failure(_decoder(_config(), values), [0], [1])

    assert isinstance(failure.__cause__, NonFinite)
    assert failure.__cause__.args == (1, math.inf)


def test_training_names_the_row_without_energy() -> None:
    rows = [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]

    failure = _failure(
        _decoder(_config(epsilon=0.0), {_EMBEDDING: rows}), [0, 1, 1], [1, 1, 1]
    )

    assert failure.args == (Stage.ATTENTION_NORM, 0)
    assert isinstance(failure.__cause__, ZeroEnergyRow)
    assert failure.__cause__.row == 1


def test_training_names_a_gradient_that_is_not_finite() -> None:
    """The loss is finite, but its slope is more than the largest float."""
    decoder = _decoder(
        _config(n_layers=0),
        {_EMBEDDING: [[1e-3, 0.0], [0.0, 1e-3], [0.0, 0.0]], "final_norm.gain": 1e308},
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

    failure = _failure(_decoder(_config()), [0], [1])

    assert failure.args == (Stage.WEIGHTS, 0)
    assert failure.__cause__ is error


def test_backward_exception_fails_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    error = MemoryError()
    monkeypatch.setattr(engine.training, "backward_pass", _raising(error))

    failure = _failure(_decoder(_config()), [0], [1])

    assert failure.args == (Stage.GRADIENT, None)
    assert failure.__cause__ is error


@pytest.mark.parametrize("name", ["exp", "log"])
def test_interrupt_passes_and_training_works_on(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    decoder = Decoder.initialize(_config(), SplitMix64(38))
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
