"""Both verdicts are right within 1,024 of the largest float, and nowhere else."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, get_args

import numpy as np
import pytest

from engine import DecoderConfig, Stage
from engine.arrays import Array, DType
from engine.stages import Place
from properties.drawn import initial_weights
from properties.edges import WITHIN, Edges
from properties.replayed import wider_than
from properties.script import Weights

TINY: Final = DecoderConfig(
    vocab_size=3,
    d_model=4,
    n_heads=2,
    n_kv_heads=1,
    d_ff=2,
    n_layers=1,
    capacity=4,
    rope_base=10_000.0,
    rms_epsilon=0.0,
)
HISTORY: Final = 0, 1, 2
QUERY: Final[Place] = Stage.QUERY, 0
FINAL: Final[Place] = Stage.FINAL_NORM, None
FIRST: Final[Place] = Stage.ATTENTION_NORM, 0


def edges(config: DecoderConfig, weights: Mapping[str, Array]) -> Edges:
    wider = wider_than(config)
    if wider is None:
        pytest.skip("no wider dtype here")
    return Edges(config, weights, wider)


def ordinary(dtype: DType) -> tuple[DecoderConfig, dict[str, Array]]:
    config = replace(TINY, dtype=dtype)
    drawn = initial_weights(config, Weights(seed=5))
    return config, {name: value.copy() for name, value in drawn.items()}


def with_queries(dtype: DType, size: float) -> Edges:
    """The largest of each row's queries is this share of the largest float."""
    config, weights = ordinary(dtype)
    kind = np.finfo(config.float_type)
    spread = 2.0**16
    weights["blocks.0.attention_norm.gain"] *= spread
    weights["blocks.0.attention.key.weight"] /= kind.max
    table = weights["token_embedding.weight"]
    table[:] = np.ones_like(table)  # so that every row is alike
    query = np.zeros_like(weights["blocks.0.attention.query.weight"])
    query[0] = size * (kind.max / spread)
    weights["blocks.0.attention.query.weight"] = query
    return edges(config, weights)


def with_rows(dtype: DType, energy: float, epsilon: float = 0.0) -> Edges:
    """A mean square that is this many times the smallest float."""
    config, weights = ordinary(dtype)
    kind = np.finfo(config.float_type)
    root = np.sqrt(energy) * np.sqrt(np.longdouble(kind.smallest_subnormal))
    weights["token_embedding.weight"] = np.full((3, 4), root, config.dtype)
    return edges(replace(config, rms_epsilon=epsilon), weights)


@pytest.mark.parametrize("dtype", get_args(DType))
@pytest.mark.parametrize(
    ("size", "may_fail", "may_pass"),
    [
        (0.5 / WITHIN, False, True),
        (2.0 / WITHIN, True, True),
        (1.0, True, True),
        (0.5 * WITHIN, True, True),
        (2.0 * WITHIN, True, False),
    ],
)
def test_largest_float_has_an_edge_on_both_sides(
    dtype: DType, size: float, *, may_fail: bool, may_pass: bool
) -> None:
    near = with_queries(dtype, size)

    assert near.can_fail(HISTORY, 0, QUERY) == may_fail
    assert near.can_fail_whole(HISTORY, QUERY) == may_fail
    assert near.can_pass(HISTORY) == may_pass


@pytest.mark.parametrize("dtype", get_args(DType))
@pytest.mark.parametrize(
    ("energy", "may_fail", "may_pass"),
    [
        (4.0 * WITHIN, False, True),
        (0.25 * WITHIN, True, True),
        (1.0, True, True),
        (4.0 / WITHIN, True, True),
        (0.25 / WITHIN, True, False),
    ],
)
def test_smallest_energy_has_an_edge(
    dtype: DType, energy: float, *, may_fail: bool, may_pass: bool
) -> None:
    near = with_rows(dtype, energy)

    assert near.can_fail(HISTORY, 0, FIRST) == may_fail
    assert near.can_pass(HISTORY) == may_pass


@pytest.mark.parametrize("dtype", get_args(DType))
def test_no_energy_is_no_edge_beside_an_epsilon(dtype: DType) -> None:
    assert not with_rows(dtype, 1.0, epsilon=1e-6).can_fail(HISTORY, 0, FIRST)


def test_another_place_may_not_fail() -> None:
    near = with_queries("float32", 1.0)

    assert not near.can_fail(HISTORY, 0, FIRST)
    assert not near.can_fail_whole(HISTORY, FIRST)


def test_what_comes_after_a_stage_that_must_fail_may_not() -> None:
    near, far = with_queries("float32", 1.0), with_queries("float32", 2.0 * WITHIN)
    rotation = Stage.QUERY_ROTATION, 0

    assert near.can_fail(HISTORY, 0, rotation)
    assert not far.can_fail(HISTORY, 0, rotation)
    assert not far.can_fail_whole(HISTORY, rotation)


def test_rows_before_a_position_are_not_looked_at() -> None:
    near = with_queries("float32", 1.0)

    assert near.can_fail(HISTORY, 2, QUERY)
    assert not near.can_fail(HISTORY, 3, QUERY)


def test_what_fails_in_the_wider_dtype_too_must_fail() -> None:
    config, weights = ordinary("float32")
    weights["token_embedding.weight"][:] = 0
    bare = edges(config, weights)

    assert bare.can_fail(HISTORY, 0, FIRST)
    assert bare.can_fail_whole(HISTORY, FIRST)
    assert not bare.can_fail_whole(HISTORY, FINAL)
    assert not bare.can_pass(HISTORY)


def test_ordinary_weights_have_no_edge() -> None:
    for dtype in get_args(DType):
        near = edges(*ordinary(dtype))

        assert near.can_pass(HISTORY)
        assert not near.can_fail(HISTORY, 0, FINAL)
