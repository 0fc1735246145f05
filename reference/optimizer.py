"""What an optimizer step must answer: its refusals, and AdamW's arithmetic in full."""

from collections.abc import Container, Sequence

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
        new = self._updated(names, weights, gradients, powers)
        ends = np.cumsum([weight.size for weight in weights])
        bad = np.flatnonzero(~np.isfinite(new).all(axis=0))
        if bad.size:
            index = int(np.searchsorted(ends, bad[0], side="right"))
            raise errors.NonFiniteUpdate(index, names[index])
        for parameter in parameters:
            if parameter in borrowed:
                raise errors.ParameterBorrowed(parameter.name)
        for parameter in parameters:
            parameter.revision += 1
        values = list[Array]()
        self.n_steps, self.powers, self.moments = self.n_steps + 1, powers, {}
        parts = np.split(new, ends[:-1], axis=1)
        for name, weight, part in zip(names, weights, parts, strict=True):
            value, first, second = (each.reshape(weight.shape) for each in part)
            values.append(value)
            self.moments[name] = first, second
        return values

    def _check_names(self, names: list[str]) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                raise errors.DuplicateParameter(name)
        if self.n_steps and set(names) != set(self.moments):
            raise errors.ParameterSetChanged(tuple(self.moments), tuple(names))

    @np.errstate(all="ignore")  # the results are judged instead
    def _updated(
        self,
        names: list[str],
        weights: Sequence[Array],
        gradients: Sequence[Array],
        powers: tuple[float, float],
    ) -> Array:
        """Values, first and second moments, (3, scalars of all parameters in order)."""
        weight, gradient = _flat(weights), _flat(gradients)
        first, second = np.zeros_like(weight), np.zeros_like(weight)
        if self.moments:
            first = _flat([self.moments[name][0] for name in names])
            second = _flat([self.moments[name][1] for name in names])
        first = first * self.betas[0] + gradient * (1 - self.betas[0])
        second = second * self.betas[1] + gradient * gradient * (1 - self.betas[1])
        mean, square = first / (1 - powers[0]), second / (1 - powers[1])
        change = self.rate * mean / (np.sqrt(square) + self.epsilon)
        value = weight - change - self.rate * self.decay * weight
        return np.stack([value, first, second])


def _flat(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.ravel(each) for each in arrays])


def _check_gradients(
    names: list[str], weights: Sequence[Array], gradients: Sequence[Array]
) -> None:
    if len(names) != len(gradients):
        index = min(len(names), len(gradients))
        name = "".join(names[index : index + 1])
        raise errors.GradientMismatch(index, name, "is missing or surplus")
    for index, (name, weight) in enumerate(zip(names, weights, strict=True)):
        gradient = gradients[index]
        if gradient.shape != weight.shape or not np.isfinite(gradient).all():
            raise errors.GradientMismatch(index, name, "does not fit, or not finite")
