"""What a rule of rounding is held against: results of inputs that are a little off."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

from properties.rounding import CONFIDENCE, Floats, Off, Rounding

EXACT: Final = Rounding(noise=0.0, angle=0.0, smallest=0.0)
"""Adds nothing to what comes in."""

N_DRAWS: Final = 2000


class Case(NamedTuple):
    """A rule, and the operation that it is about.

    Attributes:
        inputs: what the operation reads, and how far it may be off
        compute: the operation, on inputs with any more axes in front
        bound: the rule, asked about some inputs and what they make
    """

    inputs: tuple[Off, ...]
    compute: Callable[..., Floats]
    bound: Callable[..., Floats]

    @property
    def made(self) -> Floats:
        """What the inputs make if they are not off at all."""
        return self.compute(*(each.value for each in self.inputs))

    @np.errstate(all="ignore")  # as the analysis asks it
    def allowed(self, rule: Rounding = EXACT) -> Floats:
        """What the rule says of the results."""
        return self.bound(rule, *self.inputs, self.made)

    def with_exact(self, indices: Iterable[int]) -> "Case":
        """The same where some inputs are not off."""
        inputs = list(self.inputs)
        for index in indices:
            value = inputs[index].value
            inputs[index] = Off(value, np.zeros_like(value))
        return self._replace(inputs=tuple(inputs))

    def misses(self, n_draws: int = N_DRAWS) -> Floats:
        """By how many bounds some draws miss, (n_draws, …).

        A bound is so many standard deviations of independent normal draws. The
        generator has a seed, so a test that has passed passes.
        """
        rng = np.random.default_rng(38)
        drawn = (
            each.value
            + rng.normal(0, each.bound / CONFIDENCE, (n_draws, *each[0].shape))
            for each in self.inputs
        )
        return misses(self.compute(*drawn), self.made, self.allowed())


@np.errstate(all="ignore")  # 0 / 0 misses nothing
def misses(came: Floats, due: Floats, bound: Floats) -> Floats:
    """By how many bounds."""
    distance: Floats = np.abs(came - due)
    return np.where(distance == 0, 0.0, distance / bound)


def deviation(case: Case) -> Floats:
    """What a draw misses by, root mean square, in standard deviations of the bound.

    1 if the rule has every term of a linear operation and no other; 0 where nothing
    moves.
    """
    spread: Floats = CONFIDENCE * np.sqrt(np.mean(case.misses() ** 2, axis=0))
    return spread
