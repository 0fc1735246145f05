"""How far each kind of stage may be off, given how far what it reads may be.

Every rule takes magnitudes and bounds as float64 arrays and gives bounds of the
result's shape; ``properties/tolerance.py`` has the theory and walks the stages.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple, Self, TypeAlias

import numpy as np

CONFIDENCE: Final = 8.0
"""How many standard deviations of rounding are allowed."""

Floats: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_LINEAR: Final = 0.1  # up to here an exponential is its tangent, but for a twentieth
_STEEPEST: Final = 1.1  # the slope of SiLU
_BEND: Final = 0.5  # the most that this slope changes with its argument
_FLOOR: Final = 1e-300  # in squares: what scaling to 1 may lose


class Off(NamedTuple):
    """A stage's values, and how far each may be off."""

    value: Floats
    bound: Floats

    def by_head(self, n_heads: int) -> "Off":
        """(n_tokens, features) -> (n_heads, n_tokens, head_dim)."""
        return Off(by_head(self.value, n_heads), by_head(self.bound, n_heads))

    def repeated(self, group_size: int) -> "Off":
        """Key/value heads -> one for each query head."""
        return Off(*(np.repeat(each, group_size, axis=0) for each in self))

    def merged(self) -> "Off":
        """(heads, n_tokens, head_dim) -> (n_tokens, features)."""
        return Off(*(np.concatenate(each, axis=1) for each in self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """A dtype's rounding.

    Attributes:
        noise: what one operation may be off, relative, with confidence
        angle: what the angle of a rotation may be off, relative: its frequency by a
            unit in the last place, its product by half of one, in binary64 at least
        smallest: subnormal, by which a result that underflows may be off besides
    """

    noise: float
    angle: float
    smallest: float

    @classmethod
    def of(cls, dtype: type[np.floating]) -> Self:
        """That of a dtype."""
        kind, wide = np.finfo(dtype), np.finfo(np.promote_types(dtype, np.float64))
        return cls(
            noise=CONFIDENCE * float(kind.eps) / 2,
            angle=1.5 * float(wide.eps),
            smallest=float(kind.smallest_subnormal),
        )

    def product(self, x: Off, matrix: Floats, made: Floats) -> Floats:
        """Rows times an exact matrix, (n_tokens, n) and (n, m)."""
        n_terms = x.value.shape[-1]
        sums = self.noise * np.sqrt(n_terms)
        coming = total(x.bound, sums * x.value)
        return total(spread(coming, matrix), sums * made) + n_terms * self.smallest

    def residual(self, x: Off, change: Off, made: Floats) -> Floats:
        """The stream and what is added to it."""
        return total(x.bound, change.bound, self.noise * made)

    def norm(self, x: Off, gain: Floats, epsilon: float) -> Floats:
        """Rows divided by their root mean square, times an exact gain."""
        width = x.value.shape[-1]
        high = np.abs(x.value).max(axis=-1, keepdims=True)
        scale = np.where(high > 0, high, 1.0)
        mean = np.mean((x.value / scale) ** 2, axis=-1, keepdims=True)
        root = np.hypot(scale * np.sqrt(mean), np.sqrt(epsilon))
        unit, coming = np.abs(x.value) / root, x.bound / root
        # The root is off by what comes in, by its own rounding, and by underflow.
        turned = np.sqrt(np.mean((unit * coming) ** 2, axis=-1, keepdims=True) / width)
        root_off = np.hypot(turned, self.noise * (np.sqrt(width) / 2 + 3))
        root_off += self.smallest / root / root
        shrunk = np.maximum(1 - root_off, 0.0)
        off = total(coming, unit * root_off, 3 * self.noise * unit) / shrunk
        # No normalized row is longer, whatever came in; it may be another one then.
        most = CONFIDENCE * (unit + np.sqrt(width))
        bound: Floats = np.fmin(off + self.smallest, most) * np.abs(gain)
        return bound + self.smallest

    def rotation(self, x: Off, angles: Floats, logs: Floats) -> Floats:
        """Adjacent pairs turned, (heads, n_tokens, d) by (n_tokens, d / 2).

        Args:
            x: what is turned
            angles: of each position and pair
            logs: of each pair's frequency, which is a power: of its exponent's rounding
                so much reaches the angle
        """
        cos, sin = np.abs(np.cos(angles)), np.abs(np.sin(angles))
        length = np.hypot(x.value[..., 0::2], x.value[..., 1::2])
        unsure = self.angle * angles * (1 + np.abs(logs))
        local = (3 * self.noise + unsure) * length
        even, odd = x.bound[..., 0::2], x.bound[..., 1::2]
        bound = np.empty_like(x.bound)
        bound[..., 0::2] = total(even * cos, odd * sin, local)
        bound[..., 1::2] = total(even * sin, odd * cos, local)
        bound += 2 * self.smallest
        return bound

    def scores(self, q: Off, k: Off, made: Floats) -> Floats:
        """Scaled dot products, (heads, n_tokens, d) both."""
        width = q.value.shape[-1]
        sums = self.noise * np.sqrt(width)
        queries, keys = total(q.bound, sums * q.value), np.swapaxes(k.value, -1, -2)
        reach, others = total(q.value, q.bound), np.swapaxes(k.bound, -1, -2)
        products = total(spread(queries, keys), spread(reach, others))
        local = (sums + 2 * self.noise) * made
        return total(products / np.sqrt(width), local) + width * self.smallest

    def softmax(self, scores: Off, made: Floats) -> tuple[Floats, Floats]:
        """Weights over the visible keys; and how far each drifts with its own score.

        Both arguments and both results (heads, n_tokens, n_tokens).
        """
        visible = np.tri(made.shape[-1], dtype=bool)
        masked = np.where(visible, scores.value, -np.inf)
        shifted = masked - masked.max(axis=-1, keepdims=True)
        off = np.where(visible, total(scores.bound, self.noise * shifted), 0.0)
        # A weight follows its own score, less what the sum of all follows of it.
        drift = made * off
        squares = np.sum(drift**2, axis=-1, keepdims=True)
        others = np.sqrt(np.maximum(squares - drift**2, 0.0))
        bound = made * np.hypot((1 - made) * off, others)
        bent = ~(off.max(axis=-1) <= _LINEAR)
        if bent.any():
            logs = shifted[bent] - _log_sum(shifted[bent])
            bound[bent] = _bent(logs, off[bent], made[bent])
            # Then they are one amount, not many: they count in absolute values, and
            # what a matrix makes of their one direction is a draw as well.
            together = bound[bent].sum(axis=-1, keepdims=True)
            drift[bent] = CONFIDENCE * np.sqrt(bound[bent] * together)
        return np.where(visible, bound + self._of_shares(made), 0.0), drift

    def mixture(self, weights: Off, drift: Floats, v: Off, made: Floats) -> Floats:
        """Weighted values, (heads, n_tokens, n_tokens) and (heads, n_tokens, d).

        What one weight gains others lose, so a value counts by its distance from the
        mixture.
        """
        sums = self.noise * np.sqrt(_n_visible(weights.value))
        local = self._of_shares(weights.value) + sums * weights.value
        reach = total(weights.value, weights.bound)
        coming = total(_around(drift, v.value, made), spread(reach, v.bound))
        lost = _n_visible(weights.value) * self.smallest
        return total(coming, spread(local, v.value), sums * made) + lost

    def _of_shares(self, made: Floats) -> Floats:
        """An exponential, the sum of all, and the quotient."""
        n_terms = np.sqrt(_n_visible(made)) + 5
        return self.noise * n_terms * made + 2 * self.smallest

    def gated(self, gate: Off, up: Off, made: Floats) -> Floats:
        """SiLU of the gate, times the other branch."""
        decay = np.exp(-np.abs(gate.value))
        sigmoid = np.where(gate.value >= 0, 1.0, decay) / (1 + decay)
        slope = np.abs(sigmoid * (1 + gate.value * (1 - sigmoid)))
        steep = np.fmin(slope + _BEND * gate.bound, _STEEPEST)
        reach = total(up.value, up.bound)
        coming = total(steep * gate.bound * reach, gate.value * sigmoid * up.bound)
        underflow = self.smallest * (1 + reach)
        return total(coming, 8 * self.noise * made) + underflow


def by_head(rows: Floats, n_heads: int) -> Floats:
    """(n_tokens, features) -> (n_heads, n_tokens, head_dim)."""
    return np.stack(np.split(rows, n_heads, axis=1))


def total(*terms: Floats) -> Floats:
    """Independent amounts together; what is beyond all floats is infinite."""
    summed: Floats = reduce(np.hypot, terms)
    return np.where(np.isnan(summed), np.inf, summed)


def spread(amounts: Floats, matrix: Floats) -> Floats:
    """Independent amounts through a matrix, (…, n) and (…, n, m).

    Rows and columns are scaled to 1 first: their squares need not be floats.
    """
    high = np.abs(amounts).max(axis=-1, keepdims=True)
    heavy = np.abs(matrix).max(axis=-2, keepdims=True)
    rows = np.abs(amounts) / np.where(high > 0, high, 1.0)
    columns = np.abs(matrix) / np.where(heavy > 0, heavy, 1.0)
    through: Floats = np.sqrt(rows**2 @ columns**2 + _FLOOR) * high * heavy
    return np.where(np.isnan(through), np.inf, through)


def _around(amounts: Floats, values: Floats, middle: Floats) -> Floats:
    """Independent amounts through how far values are from a middle.

    (…, n, m) amounts, (…, m, d) values, (…, n, d) middles. The squares are multiplied
    out, as the differences of all would not fit; what that may lose is added.
    """
    n_terms = amounts.shape[-1]
    high = amounts.max(axis=-1, keepdims=True)
    heavy = np.abs(values).max(axis=-2, keepdims=True)
    rows = (amounts / np.where(high > 0, high, 1.0)) ** 2
    scale = np.where(heavy > 0, heavy, 1.0)
    columns, centre = values / scale, middle / scale
    most = rows @ columns**2 + centre**2 * rows.sum(axis=-1, keepdims=True)
    squares = np.maximum(most - 2 * centre * (rows @ columns), 0.0)
    lost = n_terms * np.finfo(np.float64).eps * most + _FLOOR
    through: Floats = np.sqrt(squares + lost) * high * heavy
    return np.where(np.isnan(through), np.inf, through)


def _n_visible(grid: Floats) -> Floats:
    """How many keys each position sees, (n_tokens, 1)."""
    counts: Floats = np.arange(1.0, grid.shape[-1] + 1)[:, np.newaxis]
    return counts


def _bent(logs: Floats, off: Floats, weights: Floats) -> Floats:
    """What weights may be off when their logarithms may be off by much.

    The others make room for a weight, so it is off by no more than they are together.
    """
    fall, rise = -_log_sum(logs - off), _log_sum(logs + off)
    most = np.exp(np.fmin(logs + off + fall, 0.0))
    least = np.exp(logs - off - rise)
    alone = np.fmax(most - weights, weights - least)
    others = np.sum(alone, axis=-1, keepdims=True) - alone
    bound: Floats = np.fmin(alone, others)
    return bound


def _log_sum(logs: Floats) -> Floats:
    """The logarithm of the sum of exponentials, over the last axis."""
    high = logs.max(axis=-1, keepdims=True)
    summed: Floats = high + np.log(np.sum(np.exp(logs - high), axis=-1, keepdims=True))
    return np.where(np.isnan(summed), high, summed)
