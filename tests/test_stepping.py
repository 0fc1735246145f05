"""A right step is within its bounds, they are sharp, and a wrong one is seen."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, get_args

import numpy as np
import pytest

from engine import AdamW, AdamWConfig, Parameter
from engine.adamw import adamw_update
from engine.arrays import Array, DType
from properties.allowed import Allowed
from properties.calls import Close, Step
from properties.judge import Judge
from properties.stepping import step_bounds
from properties.tolerance import APART
from tests.judged import failure_of, script_of
from tests.models import ADAMW
from tests.stepped import shares_of_steps, stepped
from tests.test_reference_optimizer import model_of

Update = tuple[Array, Array, Array]

CONSTANTS: Final = {
    "usual": ADAMW,
    "no memory": replace(ADAMW, beta1=0.0, beta2=0.0),
    "long memory": replace(ADAMW, beta1=0.999, beta2=0.99999),
    "large": replace(ADAMW, learning_rate=3.0, epsilon=0.5, weight_decay=0.3),
    "no decay": replace(ADAMW, weight_decay=0.0),
}
GRADIENTS: Final = {
    "usual": 1.0,
    "huge": 1e18,
    "faint": 1e-12,
    "next to nothing": 1e-30,
    "subnormal": 1e-42,
}

each_dtype: Final = pytest.mark.parametrize("dtype", get_args(DType))
each_constants: Final = pytest.mark.parametrize(
    "config", CONSTANTS.values(), ids=CONSTANTS
)


@each_dtype
@each_constants
@pytest.mark.parametrize("scale", GRADIENTS.values(), ids=GRADIENTS)
def test_steps_are_within_their_bounds(
    config: AdamWConfig, dtype: DType, scale: float
) -> None:
    """The first, and later ones with moments; of zeros and of other scales too."""
    scales = (scale, scale, 0.0, 1e-3 * scale, scale)

    for found in shares_of_steps(config, dtype, scales):
        assert max(found) < 1


@each_dtype
@each_constants
def test_bounds_are_no_fifty_errors(config: AdamWConfig, dtype: DType) -> None:
    for found in shares_of_steps(config, dtype, (1.0, 1.0, 0.5)):
        exact = () if config.beta1 else ("first",)  # it is the gradient then

        assert all(
            share > 0.02 or name in exact for name, share in found._asdict().items()
        )


@each_dtype
def test_step_from_nothing_may_be_off_by_subnormals(dtype: DType) -> None:
    """They are behind a division by epsilon in the value."""
    zeros = np.zeros(3, dtype)
    value, first, second = step_bounds(model_of(ADAMW), "w", zeros, zeros)
    least = np.finfo(dtype).smallest_subnormal

    for moment in (first, second):
        assert (moment > 0).all()
        assert (moment <= 8 * least).all()
    assert (value > 0).all()
    assert (value <= 1e9 * least).all()


def test_bounds_are_for_two_computations() -> None:
    ones = np.ones(1)
    bounds = step_bounds(model_of(replace(ADAMW, beta1=0.5)), "w", ones, 0 * ones + 8)

    unit = np.finfo(np.float64).eps / 2
    assert bounds.first == pytest.approx(2 * 2 * 8 * unit * 4, rel=1e-6, abs=0)
    assert bounds.second == pytest.approx(2 * 4 * 8 * unit * 0.064, rel=1e-6, abs=0)


@pytest.mark.parametrize(("epsilon", "n_roundings"), [(1e-9, 6), (1e3, 2)])
def test_bound_of_a_change_follows_the_change(epsilon: float, n_roundings: int) -> None:
    """It is divided by as much as its moments, in whichever step, and by epsilon.

    By two roundings of the mean, and four of the root's square on both sides of it,
    unless epsilon hides them; two more are independent of these.
    """
    nothing, ones = np.zeros(1), np.ones(1)
    config = replace(ADAMW, epsilon=epsilon, weight_decay=0.0)
    model, shares = model_of(config), list[float]()
    for powers in ((1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.25, 0.125)):
        model.powers = powers
        change = stepped(model, nothing, ones)[0]
        bounds = step_bounds(model, "w", nothing, ones)
        shares.append(float(bounds.value[0] / np.abs(change[0])))

    due = APART * 8 * np.finfo(np.float64).eps / 2 * np.hypot(n_roundings, 2)
    assert shares == pytest.approx([due] * 4, rel=0.05, abs=0)


@pytest.mark.parametrize(
    ("exponents", "epsilon", "rate"),
    [
        ((-23, -19), 1e-30, 0.5),
        ((-45, -41), 1e-8, 0.5),
        ((-42.5, -41.5), 1e-8, 1e-3),
        ((-37, -35), 1e8, 0.5),
    ],
)
def test_change_by_what_underflows_may_be_far_off(
    exponents: tuple[float, float], epsilon: float, rate: float
) -> None:
    """A large part is lost of root or mean, of the mean times a rate, or at last."""
    rng = np.random.default_rng(2)
    config = replace(ADAMW, learning_rate=rate, epsilon=epsilon, beta2=0.5)
    gradient: Array = (10.0 ** rng.uniform(*exponents, 300)).astype(np.float32)
    weight, model = np.zeros_like(gradient), model_of(config)
    parameter = Parameter("w", weight)
    bound = step_bounds(model, "w", weight, gradient).value / APART
    due = stepped(model, weight, gradient)[0]
    AdamW(config).step([parameter], [gradient])
    lost = np.abs(parameter.value - due)[due != 0] / np.abs(due[due != 0])

    assert Allowed(due, bound).share(parameter.value) < 1
    assert lost.max() > 0.01


@each_dtype
@pytest.mark.parametrize("beta1", [0.0, 0.5, 0.9, 0.999])
def test_first_moment_may_be_interpolated(beta1: float, dtype: DType) -> None:
    """As torch does it: a moment that is soon forgotten rounds the difference."""
    rng, real = np.random.default_rng(3), np.dtype(dtype).type
    model = model_of(replace(ADAMW, beta1=beta1))
    weight, gradient, drawn = (rng.normal(size=500).astype(dtype) for _ in range(3))
    for scale in (0.0, 1.0, 1e3, 1e6):
        first: Array = real(scale) * drawn
        model.moments = {"w": (first, gradient * gradient)}
        came = first + real(1 - beta1) * (gradient - first)
        bound = step_bounds(model, "w", weight, gradient).first / APART
        due = stepped(model, weight, gradient)[1]

        assert Allowed(due, bound).share(came) < 0.5


def test_moments_count_with_the_names_they_have() -> None:
    model, ones = model_of(ADAMW), np.ones(2)
    model.moments = {"w": (3e3 * ones, 5e6 * ones)}
    mine, other = (step_bounds(model, name, ones, ones) for name in ("w", "v"))

    assert (mine.first > 1e3 * other.first).all()
    assert (mine.second > 1e3 * other.second).all()


def test_judge_sees_a_step_that_is_hardly_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = script_of(Close(), Step(), Step())
    Judge()(script)
    for index in range(3):
        monkeypatch.setattr("engine.optimizer.adamw_update", wrong_at(index))

        assert [law.id for law in failure_of(script).broken] == ["B5"]


def wrong_at(index: int) -> Callable[..., Update]:
    """One of a step's results is off by 1e-13, relative."""

    def update(*given: object) -> Update:
        made = list(adamw_update(*given))  # type: ignore[arg-type] # given as they came
        made[index] = made[index] * (1 + 1e-13)
        return made[0], made[1], made[2]

    return update


def test_steps_do_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve of them miss by more than a bound, each by a part of its own."""
    unit = np.finfo(np.float64).eps

    def missing(*given: object) -> Update:
        value, *moments = adamw_update(*given)  # type: ignore[arg-type] # given as they came
        first, second = (each * (1 + 5 * unit) for each in moments)
        return value * (1 + 6 * unit), first, second

    monkeypatch.setattr("engine.optimizer.adamw_update", missing)

    Judge()(script_of(Close(), *(Step() for _ in range(12))))
