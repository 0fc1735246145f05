"""Choosing a token from logits: greedy, or one draw from the highest ``k``."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from engine.arrays import Vector
from engine.request import Greedy, Mode
from engine.splitmix import SplitMix64

_TOTAL_TOLERANCE: Final = 1e-12


class Choice(NamedTuple):
    """A token, and the draw that chose it from its interval [start, end).

    A greedy choice has no draw and the interval [0, 1).
    """

    token_id: int
    unit_draw: float | None
    interval_start: float
    interval_end: float


def choose(logits: Vector, mode: Mode, stream: SplitMix64) -> Choice:
    """Choose the next token.

    Args:
        logits: (vocab_size,), finite
        mode: ``k`` in 1 … ``vocab_size``, the temperature finite and > 0
        stream: gives one unit draw, whatever ``k`` is; none for ``Greedy``
    """
    if isinstance(mode, Greedy):
        return Choice(int(np.argmax(logits)), None, 0.0, 1.0)
    ranked = _ranked(logits, mode.k)
    weights = _weights([float(logits[i]) for i in ranked], mode.temperature)
    total = _compensated_sum(weights)
    shares = {
        token_id: weight / total
        for token_id, weight in zip(ranked, weights, strict=True)
    }
    return _drawn(shares, float(stream.units(1)[0]))


def _ranked(logits: Vector, k: int) -> list[int]:
    """The ``k`` best token IDs by descending logit, then by ascending ID."""
    order: list[int] = np.argsort(-logits, kind="stable")[:k].tolist()
    return order


def _weights(ranked: Sequence[float], temperature: float) -> list[float]:
    """The weight of each ranked logit, relative to the first one's 1.

    Subtracting first is exact where it matters. But the difference of two logits can
    overflow, so where dividing makes them smaller, it comes first.
    """
    highest = ranked[0]
    if temperature < 1:
        gaps = [(logit - highest) / temperature for logit in ranked[1:]]
    else:
        peak = highest / temperature
        gaps = [logit / temperature - peak for logit in ranked[1:]]
    return [1.0, *map(math.exp, gaps)]


def _compensated_sum(values: Sequence[float]) -> float:
    """The sum in the order given, the lost low-order bits carried along.

    Source:
        Kahan 1965.
    """
    total = 0.0
    lost = 0.0
    for value in values:
        corrected = value - lost
        grown = total + corrected
        lost = (grown - total) - corrected
        total = grown
    return total


def _drawn(shares: dict[int, float], unit: float) -> Choice:
    """The token whose interval holds ``unit``; intervals lie in ascending ID order."""
    assert abs(math.fsum(shares.values()) - 1) <= _TOTAL_TOLERANCE
    likely = sorted(token_id for token_id, share in shares.items() if share > 0)
    start = 0.0
    for token_id in likely[:-1]:
        end = start + shares[token_id]
        if unit < end:
            return Choice(token_id, unit, start, end)
        start = end
    return Choice(likely[-1], unit, start, 1.0)
