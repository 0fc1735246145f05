"""How far an optimizer step may be from the model's, value by value.

A step is a few rounded operations on each scalar, so their magnitudes say all: what is
added up, and what the moments' own bounds amount to behind the division. Engine and
model begin each step from the engine's values and moments.
"""

from typing import NamedTuple

import numpy as np

from engine.arrays import Array
from properties.rounding import Floats, Rounding, total
from properties.tolerance import APART
from reference.optimizer import OptimizerModel


class StepBounds(NamedTuple):
    """By how much each value and each moment of one parameter may be missed."""

    value: Floats
    first: Floats
    second: Floats


@np.errstate(all="ignore")  # what overflows is refused, and never compared
def step_bounds(
    before: OptimizerModel, name: str, weight: Array, gradient: Array
) -> StepBounds:
    """Of one parameter, for a step that was made.

    Args:
        before: the optimizer as it was before
        name: of the parameter
        weight: its value before
        gradient: what it was stepped on
    """
    rule = Rounding.of(weight.dtype.type)
    w, g = (np.abs(np.asarray(each, np.float64)) for each in (weight, gradient))
    moments = before.moments.get(name, (0 * w, 0 * w))
    m, v = (np.abs(np.asarray(each, np.float64)) for each in moments)
    (beta1, beta2), (power1, power2) = before.betas, before.powers
    first, second = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    first_off = rule.noise * (2 * first + (1 - beta1) * m) + 3 * rule.smallest
    second_off = 4 * rule.noise * second + 4 * rule.smallest
    mean, mean_off = (each / (1 - power1 * beta1) for each in (first, first_off))
    left, left_off = (each / (1 - power2 * beta2) for each in (second, second_off))
    root = np.sqrt(left) + before.epsilon
    root_off = np.sqrt(left + left_off) - np.sqrt(np.maximum(left - left_off, 0.0))
    least = np.maximum(root - root_off, before.epsilon)
    step = before.rate * mean / least
    # What is multiplied by the rate may underflow before the division.
    step_off = before.rate * mean_off + step * root_off + 2 * rule.smallest
    local = 2 * rule.noise * total(w, step)
    value_off = total(step_off / least, local) + 4 * rule.smallest
    return StepBounds(*(APART * each for each in (value_off, first_off, second_off)))
