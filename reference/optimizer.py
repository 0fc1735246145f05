"""What an optimizer step must answer: its refusals, and AdamW's arithmetic in full."""

from collections.abc import Container, Sequence
from itertools import repeat

import numpy as np

from engine import errors
from engine.arrays import Array
from reference.session import ParameterModel


class OptimizerModel:
    """Moments by name, and how many steps they have seen."""

    def __init__(
        self,
        *,
        learning_rate: float,
        beta1: float,
        beta2: float,
        epsilon: float,
        weight_decay: float,
    ) -> None:
        self.rate, self.betas = learning_rate, (beta1, beta2)
        self.epsilon, self.decay = epsilon, weight_decay
        self.n_steps, self.powers = 0, (1.0, 1.0)
        self.moments: dict[str, tuple[Array, Array]] = {}

    def step(
        self,
        parameters: Sequence[ParameterModel],
        weights: Sequence[Array],
        gradients: Sequence[Array],
        borrowed: Container[ParameterModel],
    ) -> list[Array]:
        """Every new value, each revision one higher; or raise what forbids it."""
        names = [parameter.name for parameter in parameters]
        self._check_names(names)
        _check_gradients(names, weights, gradients)
        powers = self.powers[0] * self.betas[0], self.powers[1] * self.betas[1]
        new = list(map(self._updated, names, weights, gradients, repeat(powers)))
        for index, made in enumerate(new):
            if not np.isfinite(made).all():
                raise errors.NonFiniteUpdate(index, names[index])
        for parameter in parameters:
            if parameter in borrowed:
                raise errors.ParameterBorrowed(parameter.name)
        for parameter in parameters:
            parameter.revision += 1
        self.n_steps, self.powers = self.n_steps + 1, powers
        self.moments = {
            name: (first, second)
            for name, (_, first, second) in zip(names, new, strict=True)
        }
        return [value for value, _, _ in new]

    def _check_names(self, names: list[str]) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                raise errors.DuplicateParameter(name)
        if self.n_steps and set(names) != set(self.moments):
            raise errors.ParameterSetChanged(tuple(self.moments), tuple(names))

    @np.errstate(all="ignore")  # the results are judged instead
    def _updated(
        self,
        name: str,
        weight: Array,
        gradient: Array,
        powers: tuple[float, float],
    ) -> tuple[Array, Array, Array]:
        """One parameter's value, first and second moment, in its own dtype."""
        gradient, zeros = gradient.astype(weight.dtype), np.zeros_like(weight)
        first, second = self.moments.get(name, (zeros, zeros))
        first = first * self.betas[0] + gradient * (1 - self.betas[0])
        second = second * self.betas[1] + gradient * gradient * (1 - self.betas[1])
        mean, square = first / (1 - powers[0]), second / (1 - powers[1])
        change = self.rate * mean / (np.sqrt(square) + self.epsilon)
        value = weight - change - self.rate * self.decay * weight
        return value, first, second


def _check_gradients(
    names: list[str], weights: Sequence[Array], gradients: Sequence[Array]
) -> None:
    if len(names) != len(gradients):
        index = min(len(names), len(gradients))
        name = "".join(names[index : index + 1])
        raise errors.GradientMismatch(index, name, "is missing or surplus")
    for index, (name, weight) in enumerate(zip(names, weights, strict=True)):
        gradient = gradients[index]
        widens = np.result_type(gradient, weight) == weight.dtype
        alike = widens and gradient.shape == weight.shape
        if not alike or not np.isfinite(gradient).all():
            raise errors.GradientMismatch(index, name, "does not fit, or not finite")
