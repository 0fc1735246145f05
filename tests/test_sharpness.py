"""The measure of the bound is safe by itself: what it says is what it found."""

from typing import Final, get_args

import numpy as np
import pytest
from rich.console import Console

from engine.arrays import DType
from properties.sharpness import CASES, SHAPES, Sharpness, measured, sharpness_table

SHALLOW: Final = "width 16, 2 blocks"


@pytest.mark.parametrize("dtype", get_args(DType))
@pytest.mark.parametrize(
    ("shape", "length"), [(SHALLOW, 5), ("width 16, 12 blocks", 2)]
)
def test_no_error_is_beyond_the_bound(shape: str, length: int, dtype: DType) -> None:
    """Prefixes are drawn anew; in 2,000 of them no ratio was below 4."""
    found = measured(shape, length, 2, dtype)

    assert found.engine.min() >= 1
    assert found.replay.min() >= 1
    assert np.median(found.engine) < 1000
    assert (found.shape, found.dtype, found.length) == (shape, dtype, length)


def test_every_row_with_an_error_has_a_ratio() -> None:
    config = SHAPES[SHALLOW]
    n_rows = 3 * 5 * (1 + 2 * config.n_layers * config.n_kv_heads)
    found = measured(SHALLOW, 5, 3, "float64")

    for ratios in (found.engine, found.replay):
        assert 0.9 * n_rows < len(ratios) <= n_rows


def test_table_has_least_median_and_most() -> None:
    ratios = np.arange(2.0, 103.0)
    table = sharpness_table([Sharpness("a shape", "float32", 2048, ratios, ratios * 3)])
    headers = [str(column.header) for column in table.columns]
    cells = [next(iter(column.cells)) for column in table.columns]

    assert headers == [
        "model",
        "dtype",
        "length",
        "rows",
        "least",
        "median",
        "99 %",
        "least of the replay",
    ]
    assert cells == [
        "a shape",
        "float32",
        "2,048",
        "101",
        "2.0",
        "52.0",
        "101.0",
        "6.0",
    ]
    console = Console(width=120)
    with console.capture() as capture:
        console.print(table)
    assert "bound divided by error" in capture.get()


def test_cases_are_of_known_shapes_and_fit() -> None:
    assert {shape for shape, _, _ in CASES} == set(SHAPES)
    for shape, length, n_prefixes in CASES:
        assert 0 < length <= SHAPES[shape].capacity
        assert n_prefixes > 0
