"""AdamW's constants, moments and arithmetic; the transaction is in ``optimizer``."""

from dataclasses import dataclass, fields
from typing import NamedTuple, Self

import numpy as np

from engine.arrays import Array
from engine.config import exact_float, once, rebuilt, refused_state
from engine.errors import InvalidOptimizerConfig


@once
@dataclass(frozen=True, slots=True, kw_only=True)
class AdamWConfig:
    """Constants of AdamW; every instance is valid.

    Raises:
        InvalidOptimizerConfig: a constant is out of its domain; nothing was made.
    """

    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float

    __reduce__ = rebuilt
    __setstate__ = refused_state

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            number = exact_float(given)
            if not np.isfinite(number):
                reason = "must be a finite real number"
                raise InvalidOptimizerConfig(field.name, given, reason)
            object.__setattr__(self, field.name, number)
        self._require("learning_rate", "must be > 0", holds=self.learning_rate > 0)
        self._require("beta1", "must be in [0, 1)", holds=0 <= self.beta1 < 1)
        self._require("beta2", "must be in [0, 1)", holds=0 <= self.beta2 < 1)
        self._require("epsilon", "must be > 0", holds=self.epsilon > 0)
        self._require("weight_decay", "must be >= 0", holds=self.weight_decay >= 0)
        shrinks = (
            self.weight_decay == 0 or 0 < self.learning_rate * self.weight_decay < 1
        )
        reason = f"times learning_rate={self.learning_rate} must be between 0 and 1"
        self._require("weight_decay", reason, holds=shrinks)

    def _require(self, field: str, reason: str, *, holds: bool) -> None:
        if not holds:
            raise InvalidOptimizerConfig(field, getattr(self, field), reason)


class Moment(NamedTuple):
    """The two moments of one parameter, as row-major bytes of its dtype."""

    name: str
    shape: tuple[int, ...]
    first: bytes
    second: bytes
    dtype: str = "float64"

    @classmethod
    def zero(cls, name: str, shape: tuple[int, ...], dtype: str = "float64") -> Self:
        """The moments before the first step."""
        zeros = np.zeros(shape, dtype).tobytes()
        return cls(name, shape, zeros, zeros, dtype)

    def arrays(self) -> tuple[Array, Array]:
        """First and second moment, in the parameter's shape."""
        first: Array = np.ndarray(self.shape, self.dtype, self.first)
        second: Array = np.ndarray(self.shape, self.dtype, self.second)
        return first, second


class AdamWSnapshot(NamedTuple):
    """All that an optimizer knows; compares with ``==``.

    ``beta1_power`` and ``beta2_power`` are the running products after ``step`` steps.
    """

    config: AdamWConfig
    step: int
    beta1_power: float
    beta2_power: float
    moments: tuple[Moment, ...]


def adamw_update(
    config: AdamWConfig,
    powers: tuple[float, float],
    weight: Array,
    moments: tuple[Array, Array],
    gradient: Array,
) -> tuple[Array, Array, Array]:
    """New value, first and second moment of one parameter, each of its shape."""
    first = config.beta1 * moments[0] + (1 - config.beta1) * gradient
    second = config.beta2 * moments[1] + (1 - config.beta2) * gradient**2
    root = np.sqrt(second / (1 - powers[1])) + config.epsilon
    step = config.learning_rate * (first / (1 - powers[0])) / root
    decay = config.learning_rate * config.weight_decay * weight
    return weight - step - decay, first, second
