"""``Allowed``: numbers that are due, and how far what comes may be from each."""

from typing import NamedTuple

import numpy as np

from properties.difference import Difference
from properties.rounding import Floats
from reference.replay import Reals


class Allowed(NamedTuple):
    """An array that is due, and by how much each element may be missed."""

    due: Reals
    bound: Floats

    def share(self, came: Reals) -> float:
        """The largest miss as a share of what is allowed; a NaN misses infinitely."""
        if self.due.shape != came.shape:
            return np.inf
        distance = self._distance(came)
        with np.errstate(all="ignore"):
            shares = np.where(distance == 0, 0.0, distance / self.bound)
        return float(np.where(np.isnan(shares), np.inf, shares).max(initial=0.0))

    def missed(self, came: Reals) -> tuple[int, ...] | None:
        """Where the first element lies that is missed by too much; shapes are equal."""
        missed = ~(self._distance(came) <= self.bound)
        return tuple(np.argwhere(missed)[0].tolist()) if missed.any() else None

    def difference(self, where: str, came: Reals) -> Difference | None:
        """The first element that is missed by too much, or the other shape."""
        if self.due.shape != came.shape:
            where = f"{where}, shape"
            return Difference(
                where=where, due=self.due.shape, came=came.shape, place=("shape",)
            )
        place = self.missed(came)
        if place is None:
            return None
        return Difference(
            where=f"{where} at {list(place)}",
            due=self.due[place],
            came=came[place],
            bound=float(self.bound[place]),
            place=place,
        )

    @np.errstate(all="ignore")  # opposite numbers may be infinitely far apart
    def _distance(self, came: Reals) -> Floats:
        wide = np.promote_types(self.due.dtype, np.float64)
        return np.asarray(np.abs(came - self.due.astype(wide)), np.float64)
