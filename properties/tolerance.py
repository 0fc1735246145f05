"""How far two computations of the same decoder may differ, until a bound is derived."""

from typing import Final

import numpy as np

from engine.arrays import Array
from properties.difference import Difference
from reference.replay import Reals

TOLERANCE: Final = 1e-11
"""Of the largest magnitude compared."""


def bound_of(due: Reals) -> float:
    """How far each element may be off."""
    return TOLERANCE * float(np.abs(due).max(initial=0))


def share_of_bound(due: Reals, came: Array) -> float:
    """The largest difference, as a share of what is allowed; NaN differs infinitely."""
    if due.shape != came.shape:
        return np.inf
    distance = float(np.abs(came - due).max(initial=0))
    allowed = bound_of(due)
    if distance <= allowed:
        return distance / allowed if allowed else 0.0
    return distance / allowed if allowed and np.isfinite(distance) else np.inf


def first_difference(what: str, due: Reals, came: Array) -> Difference | None:
    """The first element that is off by more than the bound, NaN included."""
    if due.shape != came.shape:
        return Difference(where=f"{what}, shape", due=due.shape, came=came.shape)
    bound, distance = bound_of(due), np.abs(came - due)
    if distance.max(initial=0) <= bound:
        return None
    differing = np.argwhere(~(distance <= bound))
    place = tuple(differing[0].tolist())
    where = f"{what} at {list(place)}"
    return Difference(where=where, due=due[place], came=came[place], bound=bound)
