"""The longest integer that a record takes."""

import pytest

from engine import InvalidConfig
from engine.config import exact_int


def test_integer_of_2048_bits_is_taken() -> None:
    assert exact_int("field", 2**2048 - 1, 0) == 2**2048 - 1


def test_integer_of_2049_bits_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="must have at most 2048 bits"):
        exact_int("field", 2**2048, 0)
