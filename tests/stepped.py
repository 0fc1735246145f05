"""An optimizer's steps beside exact ones: by how many bounds they miss."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine import AdamW, AdamWConfig, Parameter
from engine.arrays import Array, DType
from properties.allowed import Allowed
from properties.stepping import step_bounds
from properties.tolerance import APART
from reference.optimizer import OptimizerModel
from reference.replay import Reals
from tests.test_reference_optimizer import model_of


class Shares(NamedTuple):
    """The largest error of a step's three results, in bounds of one computation."""

    value: float
    first: float
    second: float


def shares_of_steps(
    config: AdamWConfig, dtype: DType, scales: Sequence[float], n_numbers: int = 500
) -> list[Shares]:
    """A step for each scale of gradients; each begins where the last one ended."""
    rng = np.random.default_rng(38)
    weight: Array = rng.normal(size=n_numbers).astype(dtype)
    parameter, optimizer, model = (
        Parameter("w", weight),
        AdamW(config),
        model_of(config),
    )
    found = list[Shares]()
    for scale in scales:
        gradient: Array = (scale * rng.normal(size=n_numbers)).astype(dtype)
        weight = parameter.value.copy()
        bounds = step_bounds(model, "w", weight, gradient)
        due = stepped(model, weight, gradient)
        optimizer.step([parameter], [gradient])
        snapshot = optimizer.snapshot()
        moments = snapshot.moments[0].arrays()
        came = (parameter.value, *moments)
        each_share = (
            Allowed(true, bound / APART).share(each)
            for true, bound, each in zip(due, bounds, came, strict=True)
        )
        found.append(Shares(*each_share))
        model.moments, model.n_steps = {"w": moments}, snapshot.step
        model.powers = snapshot.beta1_power, snapshot.beta2_power
    return found


def stepped(
    model: OptimizerModel, weight: Array, gradient: Array
) -> tuple[Reals, Reals, Reals]:
    """AdamW in the widest dtype; the powers are running products of float64."""
    wide = np.longdouble
    w, g = weight.astype(wide), gradient.astype(wide)
    m, v = (
        each.astype(wide) for each in model.moments.get("w", (0 * weight, 0 * weight))
    )
    (beta1, beta2), (power1, power2) = model.betas, model.powers
    first = wide(beta1) * m + (1 - wide(beta1)) * g
    second = wide(beta2) * v + (1 - wide(beta2)) * g * g
    mean, square = (
        first / (1 - wide(power1 * beta1)),
        second / (1 - wide(power2 * beta2)),
    )
    step = wide(model.rate) * mean / (np.sqrt(square) + wide(model.epsilon))
    return w - step - wide(model.rate) * wide(model.decay) * w, first, second
