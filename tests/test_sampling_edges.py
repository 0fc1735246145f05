"""Draws at the very edge of an interval, and weights to the last bit.

The judge leaves to rounding what is that close, so examples have to tell.
"""

import math
from typing import Final

import pytest

from engine.sampling import Choice, _drawn, _weights

TENTHS: Final = dict.fromkeys(range(10), 0.1)


def test_interval_does_not_hold_its_end() -> None:
    assert _drawn({0: 0.5, 1: 0.5}, 0.5) == Choice(1, 0.5, 0.5, 1.0)


def test_last_interval_ends_at_1_whatever_the_sum_and_what_has_no_share() -> None:
    start = sum([0.1] * 9)
    assert start + 0.1 < 1

    assert _drawn({**TENTHS, 10: 0.0}, 0.99) == Choice(9, 0.99, start, 1.0)


def test_shares_sum_to_1() -> None:
    with pytest.raises(AssertionError):
        _drawn({0: 0.5, 1: 0.4}, 0.1)


def test_low_temperature_subtracts_first() -> None:
    """Dividing first would overflow, and the difference of two infinities is none."""
    assert _weights([1e308, 9e307], 0.5) == [1.0, 0.0]


def test_high_temperature_divides_first() -> None:
    highest, other, temperature = -2.9, -3.0, 1.5
    due = math.exp(other / temperature - highest / temperature)
    assert due != math.exp((other - highest) / temperature)

    assert _weights([highest, other], temperature) == [1.0, due]
