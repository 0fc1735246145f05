"""Steps on parameters of both dtypes, and the model of an optimizer."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pytest

from engine import (
    AdamW,
    GradientMismatch,
    Moment,
    NonFiniteUpdate,
    Parameter,
)
from engine.arrays import Array, DType
from reference.session import ParameterModel
from tests.models import ADAMW
from tests.test_reference_optimizer import model_of

TAKEN: Final = {
    "float32": {"f2", "f4", "i1"},
    "float64": {"f2", "f4", "f8", "i1", "i8"},
}


def test_one_optimizer_steps_on_both_dtypes_as_its_model_does() -> None:
    rng, optimizer, model = np.random.default_rng(38), AdamW(ADAMW), model_of(ADAMW)
    dtypes: Sequence[DType] = ("float32", "float64", "float32")
    values: list[Array] = [rng.normal(size=3).astype(each) for each in dtypes]
    named = list(map(ParameterModel, "abc"))
    held = [
        Parameter(each.name, value) for each, value in zip(named, values, strict=True)
    ]
    for _ in range(4):
        gradients: list[Array] = [rng.normal(size=3).astype(each) for each in dtypes]
        optimizer.step(held, gradients)
        values = model.step(named, values, gradients, ())

        assert [each.value.dtype.name for each in held] == list(dtypes)
        assert [each.dtype.name for each in values] == list(dtypes)
        for parameter, value in zip(held, values, strict=True):
            assert_alike(parameter.value, value)
        for moment in optimizer.snapshot().moments:
            mirrored = model.moments[moment.name]
            for ours, theirs in zip(moment.arrays(), mirrored, strict=True):
                assert_alike(ours, theirs)


def test_step_in_float32_is_that_of_the_formula_in_float32() -> None:
    """Every product and sum is rounded, so a wider one shows in the last bits."""
    rng, one = np.random.default_rng(1), np.float32
    gradient = rng.normal(size=64).astype(one)
    weight = gradient / one(1000)  # small, so that it hides no bit of the change
    parameter = Parameter("w", weight)
    AdamW(ADAMW).step([parameter], [gradient])
    mean = one(1 - 0.9) * gradient / one(1 - 0.9)
    square = one(1 - 0.999) * gradient**2 / one(1 - 0.999)
    change = one(0.01) * mean / (np.sqrt(square) + one(1e-8))

    stepped = weight - change - one(0.01 * 0.1) * weight
    assert parameter.value.tobytes() == stepped.tobytes()


@pytest.mark.parametrize(
    "gradient",
    [
        [0.1, 2.0],
        (0.1, 2),
        [np.float64(0.1), 2.0],
        np.array([0.1, 2.0], np.float32),
        np.array([0.1, 2.0], ">f4"),
    ],
)
def test_numbers_become_the_parameters_dtype(gradient: Array) -> None:
    parameter, same = (Parameter("w", np.ones(2, np.float32)) for _ in range(2))
    AdamW(ADAMW).step([parameter], [gradient])
    AdamW(ADAMW).step([same], [np.array([0.1, 2.0], np.float32)])

    assert parameter.value.tobytes() == same.value.tobytes()
    assert parameter.value.dtype == np.float32


@pytest.mark.parametrize("gradient", [1, 0.5, np.array(0.5, np.float16)])
def test_lone_number_becomes_the_dtype(gradient: Array) -> None:
    parameter = Parameter("w", np.float32(1))  # type: ignore[arg-type] # numbers of rank 0
    AdamW(ADAMW).step([parameter], [gradient])

    assert parameter.value.dtype == np.float32
    assert parameter.value.shape == ()


@pytest.mark.parametrize(
    ("gradient", "reason"),
    [
        (np.ones(2), "has the dtype float64, not float32"),
        (np.ones(2, np.int32), "has the dtype int32, not float32"),
        (np.ones(2, np.longdouble), f"has the dtype {np.dtype('g')}, not float32"),
        (np.ones(3), "has the dtype float64, not float32"),
        (np.ones(2, bool), "has the dtype bool, not float32"),
        ([1.0, 2.0, 3.0], "has the shape (3,), the parameter (2,)"),
        ([1.0, 1e300], "has a value that is not finite"),
        ([True, False], "has the dtype bool, not float32"),
    ],
)
def test_gradient_that_would_be_narrowed_is_refused(
    gradient: Array, reason: str
) -> None:
    parameter = Parameter("w", np.ones(2, np.float32))

    with pytest.raises(GradientMismatch) as refusal:
        AdamW(ADAMW).step([parameter], [gradient])

    assert refusal.value.args == (0, "w", reason)
    assert parameter.revision == 0


def test_gradient_wider_than_float64_is_refused() -> None:
    with pytest.raises(GradientMismatch, match="not float64"):
        AdamW(ADAMW).step([Parameter("w", [1.0])], [np.ones(1, np.longdouble)])


def test_parameter_of_another_dtype_than_its_moments_is_refused() -> None:
    optimizer = AdamW(ADAMW)
    optimizer.step([Parameter("w", [1.0])], [np.ones(1)])
    before, narrow = optimizer.snapshot(), np.ones(1, np.float32)

    with pytest.raises(GradientMismatch) as refusal:
        optimizer.step([Parameter("w", narrow)], [narrow])

    reason = "the parameter has the dtype float32, its moments float64"
    assert refusal.value.args == (0, "w", reason)
    assert optimizer.snapshot() == before


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("given", ["f2", "f4", "f8", "i1", "i8", "g"])
def test_model_takes_and_refuses_the_same_dtypes(dtype: DType, given: str) -> None:
    weight: Array = np.ones(2, dtype)
    gradient: Array = np.full(2, 3, given)
    parameter, model = Parameter("w", weight), model_of(ADAMW)

    def step() -> Array:
        AdamW(ADAMW).step([parameter], [gradient])
        return parameter.value

    def mirrored() -> Array:
        return model.step([ParameterModel("w")], [weight], [gradient], ())[0]

    ours, theirs = made_by(step), made_by(mirrored)

    assert (ours is None) == (theirs is None) == (given not in TAKEN[dtype])
    if ours is not None and theirs is not None:
        assert ours.dtype == theirs.dtype == weight.dtype
        assert_alike(ours, theirs)


def made_by(step: Callable[[], Array]) -> Array | None:
    """The new value, or nothing if the gradient was refused."""
    try:
        return step()
    except GradientMismatch:
        return None


def assert_alike(ours: Array, theirs: Array) -> None:
    """Of one dtype, and equal but for some roundings of it."""
    assert ours.dtype == theirs.dtype
    units = 8 * float(np.finfo(ours.dtype).eps)
    wide = theirs.astype(np.float64)
    np.testing.assert_allclose(ours.astype(np.float64), wide, rtol=units, atol=0)


def test_update_beyond_float32_changes_nothing() -> None:
    narrow, huge = np.ones(1, np.float32), np.full(1, 1e30, np.float32)
    optimizer, parameter = AdamW(ADAMW), Parameter("w", narrow)

    with pytest.raises(NonFiniteUpdate):
        optimizer.step([parameter], [huge])
    with pytest.raises(NonFiniteUpdate):
        model_of(ADAMW).step([ParameterModel("w")], [narrow], [huge], ())

    assert parameter.revision == optimizer.snapshot().step == 0
    assert optimizer.step([Parameter("w", [1.0])], [huge]) == 1


def test_zero_moments_are_float64_where_nothing_else_is_said() -> None:
    zero, narrow = Moment.zero("w", (2,)), Moment.zero("w", (2,), "float32")

    assert (zero.dtype, zero.first) == ("float64", bytes(16))
    assert (narrow.dtype, narrow.second) == ("float32", bytes(8))
