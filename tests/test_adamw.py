"""The constants of AdamW: which are refused, and what the others become."""

import math
from dataclasses import FrozenInstanceError, fields, replace
from typing import Final

import numpy as np
import pytest

from engine import AdamWConfig, InvalidOptimizerConfig
from tests.models import ADAMW

CONSTANTS: Final = [field.name for field in fields(AdamWConfig)]


def changed(field: str, value: object) -> AdamWConfig:
    """With one constant of any type whatever."""
    return replace(ADAMW, **{field: value})  # type: ignore[arg-type] # judged at run time


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "1", None, 1j])
@pytest.mark.parametrize("field", CONSTANTS)
def test_constant_that_is_no_finite_real_number_is_refused(
    field: str, value: object
) -> None:
    with pytest.raises(InvalidOptimizerConfig) as refusal:
        changed(field, value)

    assert refusal.value.field == field
    assert refusal.value.reason == "must be a finite real number"


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("learning_rate", 0.0, "must be > 0"),
        ("learning_rate", -1.0, "must be > 0"),
        ("beta1", 1.0, "must be in [0, 1)"),
        ("beta1", -0.1, "must be in [0, 1)"),
        ("beta2", 1.0, "must be in [0, 1)"),
        ("beta2", -0.1, "must be in [0, 1)"),
        ("epsilon", 0.0, "must be > 0"),
        ("epsilon", -1e-8, "must be > 0"),
        ("weight_decay", -0.1, "must be >= 0"),
        ("weight_decay", 100.0, "times learning_rate=0.01 must be between 0 and 1"),
        ("weight_decay", 5e-324, "times learning_rate=0.01 must be between 0 and 1"),
    ],
)
def test_constant_out_of_its_domain_is_refused(
    field: str, value: float, reason: str
) -> None:
    with pytest.raises(InvalidOptimizerConfig) as refusal:
        changed(field, value)

    assert refusal.value.args == (field, value, reason)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("beta1", 0),
        ("beta2", 0.0),
        ("weight_decay", 0),
        ("weight_decay", 99.9),
        ("learning_rate", np.float32(0.5)),
        ("epsilon", 5e-324),
    ],
)
def test_constant_is_kept_as_a_plain_float(field: str, value: float) -> None:
    config = changed(field, value)

    assert type(getattr(config, field)) is float
    with pytest.raises(FrozenInstanceError):
        config.epsilon = 1.0  # type: ignore[misc] # which is the point
