"""A step replaces everything or nothing, and computes what its formula says."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from engine import (
    AdamW,
    GradientMismatch,
    NonFiniteUpdate,
    OptimizerError,
    Parameter,
    ParameterSetChanged,
)
from engine.arrays import Array
from tests.models import ADAMW, World, held, ones_for


def test_step_computes_the_formula() -> None:
    weight, first, second = 2.0, 0.0, 0.0
    parameter, optimizer = Parameter("weight", [weight]), AdamW(ADAMW)

    for step, gradient in enumerate((0.5, -3.0, 0.0), start=1):
        count = optimizer.step([parameter], [np.array([gradient])])
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        unbiased = first / (1 - 0.9**step), second / (1 - 0.999**step)
        weight -= 0.01 * unbiased[0] / (math.sqrt(unbiased[1]) + 1e-8) + 0.001 * weight
        assert count == optimizer.snapshot().step == step
        assert parameter.value[0] == pytest.approx(weight, rel=1e-13)
        moments = optimizer.snapshot().moments[0].arrays()
        assert moments[0][0] == pytest.approx(first, rel=1e-13)
        assert moments[1][0] == pytest.approx(second, rel=1e-13)


def test_powers_are_running_products() -> None:
    parameter, optimizer = Parameter("weight", [1.0]), AdamW(ADAMW)
    for _ in range(3):
        optimizer.step([parameter], [np.ones(1)])

    state = optimizer.snapshot()
    assert (state.beta1_power, state.beta2_power) == (
        0.9 * 0.9 * 0.9,
        0.999 * 0.999 * 0.999,
    )


def test_gradient_of_zeros_decays_only() -> None:
    parameter = Parameter("weight", [2.0])

    AdamW(ADAMW).step([parameter], [np.zeros(1)])

    assert parameter.value[0] == 2.0 - 0.01 * 0.1 * 2.0


def test_no_decay_and_no_gradient_change_nothing_but_the_revision() -> None:
    parameter = Parameter("weight", [2.0])

    AdamW(replace(ADAMW, weight_decay=0.0)).step([parameter], [np.zeros(1)])

    assert parameter.value.tolist() == [2.0]
    assert parameter.revision == 1


def test_state_goes_by_name_whatever_the_order() -> None:
    one, other = World.closed(), World.closed()
    for world in (one, other):
        parameters = world.decoder.parameters
        world.optimizer.step(parameters, ones_for(parameters))

    parameters = one.decoder.parameters
    one.optimizer.step(parameters, ones_for(parameters))
    backwards = other.decoder.parameters[::-1]
    other.optimizer.step(backwards, ones_for(backwards))

    assert held(one.decoder) == held(other.decoder)


@pytest.mark.parametrize(
    "gradient",
    [
        np.ones(2, np.float32),
        np.ones(2, np.int8),
        np.ones(2, np.uint64),
        np.ones(2, np.float16),
        np.ones(2, ">f8"),
        np.ones(4)[::2],
    ],
)
def test_gradient_may_be_of_any_real_type(gradient: Array) -> None:
    parameter, same = Parameter("w", [1.0, 2.0]), Parameter("w", [1.0, 2.0])

    AdamW(ADAMW).step([parameter], [gradient])

    AdamW(ADAMW).step([same], [np.ones(2)])
    assert parameter.value.tobytes() == same.value.tobytes()


@pytest.mark.parametrize(
    ("gradient", "reason"),
    [
        (None, "has the dtype object, not float64"),
        ([[1.0], [1.0, 2.0]], "has the dtype object, not float64"),
        ("ab", "has the dtype <U2, not float64"),
        (np.ones(2, bool), "has the dtype bool, not float64"),
        (np.ones(2, complex), "has the dtype complex128, not float64"),
        (np.ones(1), "has the shape (1,), the parameter (2,)"),
        (np.ones((1, 2)), "has the shape (1, 2), the parameter (2,)"),
        (1.0, "has the shape (), the parameter (2,)"),
        ([1.0, np.inf], "has a value that is not finite"),
        ([np.nan, 1.0], "has a value that is not finite"),
    ],
)
def test_gradient_that_does_not_fit_is_refused(gradient: Array, reason: str) -> None:
    parameter = Parameter("weight", [1.0, 2.0])

    with pytest.raises(GradientMismatch) as refusal:
        AdamW(ADAMW).step([parameter], [gradient])

    assert refusal.value.args == (0, "weight", reason)
    assert parameter.revision == 0


def test_parameter_of_another_type_is_refused() -> None:
    parameter = Parameter("weight", np.ones(2, np.float16))

    with pytest.raises(GradientMismatch) as refusal:
        AdamW(ADAMW).step([parameter], [np.ones(2)])

    reason = "the parameter has the dtype float16, not float64 or float32"
    assert refusal.value.args == (0, "weight", reason)


def test_parameter_of_another_shape_than_its_moments_is_refused() -> None:
    optimizer = AdamW(ADAMW)
    optimizer.step([Parameter("weight", [1.0])], [np.ones(1)])
    before = optimizer.snapshot()

    with pytest.raises(GradientMismatch) as refusal:
        optimizer.step([Parameter("weight", [1.0, 2.0])], [np.ones(2)])

    reason = "the parameter has the shape (2,), its moments (1,)"
    assert refusal.value.args == (0, "weight", reason)
    assert optimizer.snapshot() == before


@pytest.mark.parametrize("names", [("a",), ("a", "b", "c"), ("a", "c"), ()])
def test_set_of_names_must_stay(names: tuple[str, ...]) -> None:
    optimizer = AdamW(ADAMW)
    first = [Parameter(name, [1.0]) for name in ("a", "b")]
    optimizer.step(first, ones_for(first))
    before = optimizer.snapshot()
    given = [Parameter(name, [1.0]) for name in names]

    with pytest.raises(ParameterSetChanged) as refusal:
        optimizer.step(given, ones_for(given))

    assert refusal.value.args == (("a", "b"), names)
    assert optimizer.snapshot() == before


@pytest.mark.parametrize(
    ("weight", "gradient"), [(1.0, 1e200), (1.7e308, -1e150), (1.0, -1e300)]
)
def test_update_that_is_not_finite_changes_nothing(
    weight: float, gradient: float
) -> None:
    config = replace(ADAMW, learning_rate=1e307, weight_decay=0.0)
    fine, bad = Parameter("fine", [1.0]), Parameter("bad", [weight])
    optimizer = AdamW(config)
    before = optimizer.snapshot()

    with pytest.raises(NonFiniteUpdate) as refusal:
        optimizer.step([fine, bad], [np.zeros(1), np.array([gradient])])

    assert refusal.value.args == (1, "bad")
    assert (fine.revision, bad.revision) == (0, 0)
    assert optimizer.snapshot() == before


def test_refused_first_step_fixes_no_names() -> None:
    optimizer = AdamW(ADAMW)
    with pytest.raises(OptimizerError):
        optimizer.step([Parameter("a", [1.0])], [])

    assert optimizer.step([Parameter("b", [1.0])], [np.ones(1)]) == 1


def test_restored_optimizer_goes_on_to_the_bit() -> None:
    world, other = World.stepped(), World.stepped()
    restored = AdamW.restored(other.optimizer.snapshot())

    steppers: list[tuple[World, Callable[..., int]]] = [
        (world, world.optimizer.step),
        (other, restored.step),
    ]
    for owner, step in steppers:
        step(owner.decoder.parameters, ones_for(owner.decoder.parameters))

    assert restored.snapshot() == world.optimizer.snapshot()
    assert restored.config == ADAMW
    assert held(other.decoder) == held(world.decoder)


def test_earlier_snapshot_stays() -> None:
    world = World.stepped()
    before = world.optimizer.snapshot()
    bits = before.moments[0].first

    parameters = world.decoder.parameters
    world.optimizer.step(parameters, ones_for(parameters))

    assert before.step == 1
    assert before.moments[0].first == bits
    assert world.optimizer.snapshot() != before
