"""A configuration is valid, or it is not made."""

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction
from typing import Final

import numpy as np
import pytest

from engine import DecoderConfig, InvalidConfig
from tests.models import GROUPED, TINY

INTEGERS: Final = [field.name for field in fields(DecoderConfig) if field.type is int]
FLOATS: Final = [field.name for field in fields(DecoderConfig) if field.type is float]
HUGE: Final = 2**70


def changed(field: str, value: object) -> DecoderConfig:
    """With one field of any type whatever."""
    return replace(TINY, **{field: value})  # type: ignore[arg-type] # judged at run time


class Index:
    """An integer that only ``operator.index`` can see."""

    def __index__(self) -> int:
        return 8


def test_config_has_seven_integers_and_two_floats() -> None:
    assert len(INTEGERS) == 7
    assert FLOATS == ["rope_base", "rms_epsilon"]


@pytest.mark.parametrize("value", [True, 1.0, "1", None, np.float64(2), np.True_, [1]])
@pytest.mark.parametrize("field", INTEGERS)
def test_what_is_no_integer_is_refused(field: str, value: object) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        changed(field, value)

    assert refusal.value.args == (field, value, "must be an integer")


@pytest.mark.parametrize("value", [-1, -HUGE, np.int64(-1)])
@pytest.mark.parametrize("field", INTEGERS)
def test_negative_integer_is_refused(field: str, value: int) -> None:
    minimum = 0 if field == "n_layers" else 1

    with pytest.raises(InvalidConfig) as refusal:
        changed(field, value)

    assert refusal.value.args == (field, value, f"must be at least {minimum}")


@pytest.mark.parametrize("field", INTEGERS)
def test_zero_is_refused_but_for_blocks(field: str) -> None:
    if field == "n_layers":
        assert changed(field, 0).n_layers == 0
        return
    with pytest.raises(InvalidConfig, match=f"{field}=0: must be at least 1"):
        changed(field, 0)


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -np.inf, True, "1", None, 1j, 10**400, np.float64("nan")]
)
@pytest.mark.parametrize("field", FLOATS)
def test_what_is_no_finite_real_number_is_refused(field: str, value: object) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        changed(field, value)

    assert refusal.value.field == field
    assert refusal.value.reason == "must be a finite real number"


@pytest.mark.parametrize("value", [-1.0, -5e-324, 0.0, -0.0])
def test_rotary_base_must_be_positive(value: float) -> None:
    with pytest.raises(InvalidConfig, match=r"rope_base=.*: must be > 0"):
        replace(TINY, rope_base=value)


@pytest.mark.parametrize("value", [-1.0, -5e-324])
def test_epsilon_must_not_be_negative(value: float) -> None:
    with pytest.raises(InvalidConfig, match=r"rms_epsilon=.*: must be >= 0"):
        replace(TINY, rms_epsilon=value)


@pytest.mark.parametrize("value", [0.0, 5e-324, 1.7e308])
def test_epsilon_may_be_any_other_float(value: float) -> None:
    assert replace(TINY, rms_epsilon=value).rms_epsilon == value


@pytest.mark.parametrize("value", [8, np.int64(8), np.uint8(8), Index()])
def test_integer_is_kept_as_a_plain_one(value: int) -> None:
    config = replace(TINY, capacity=value)

    assert type(config.capacity) is int
    assert config == replace(TINY, capacity=8)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), Fraction(2)])
def test_real_number_is_kept_as_a_plain_float(value: float) -> None:
    config = replace(TINY, rope_base=value)

    assert type(config.rope_base) is float
    assert config == replace(TINY, rope_base=2.0)


@pytest.mark.parametrize(
    ("make", "field", "value", "reason"),
    [
        (lambda: replace(TINY, n_heads=3), "n_heads", 3, "must divide d_model=2"),
        (
            lambda: replace(TINY, n_heads=2, n_kv_heads=2),
            "n_heads",
            2,
            "leaves an odd head width of 1",
        ),
        (
            lambda: replace(TINY, d_model=3),
            "n_heads",
            1,
            "leaves an odd head width of 3",
        ),
        (
            lambda: replace(GROUPED, n_kv_heads=3),
            "n_kv_heads",
            3,
            "must divide n_heads=4",
        ),
        (
            lambda: replace(GROUPED, n_kv_heads=8),
            "n_kv_heads",
            8,
            "must divide n_heads=4",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    make: Callable[[], DecoderConfig], field: str, value: int, reason: str
) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        make()

    assert refusal.value.args == (field, value, reason)


def test_heads_are_derived() -> None:
    assert (GROUPED.head_dim, GROUPED.kv_width, GROUPED.group_size) == (2, 4, 2)


def test_largest_cache_that_fits_has_2_to_the_63_bytes_less_one() -> None:
    bytes_per_position = 2 * TINY.kv_width * 8
    largest = (2**63 - 1) // bytes_per_position

    assert replace(TINY, capacity=largest).capacity == largest
    with pytest.raises(InvalidConfig) as refusal:
        replace(TINY, capacity=largest + 1)
    assert refusal.value.field == "capacity"
    assert refusal.value.value == largest + 1


@pytest.mark.parametrize("field", ["capacity", "n_layers", "d_model"])
def test_huge_size_is_refused_for_its_cache(field: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        changed(field, HUGE)

    assert refusal.value.field == "capacity"


def test_capacity_has_no_bound_where_nothing_is_stored() -> None:
    assert replace(TINY, n_layers=0, capacity=HUGE).capacity == HUGE


def test_config_is_a_value() -> None:
    same = replace(TINY)

    assert same == TINY
    assert hash(same) == hash(TINY)
    assert pickle.loads(pickle.dumps(TINY)) == TINY
    with pytest.raises(FrozenInstanceError):
        same.capacity = 9  # type: ignore[misc] # which is the point
