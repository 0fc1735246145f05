"""The strategies make what they promise, and reach what they are for."""

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar, get_args

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings, strategies as st

from engine import DecoderConfig, StageFailed
from engine.arrays import DType
from properties.drawn import initial_weights
from properties.geometry import (
    begun,
    configs,
    weights,
)
from properties.plugin import PROFILES
from properties.script import Weights
from reference import replay

T = TypeVar("T")

# The same examples in every run, so that no count can flake.
SAMPLE: Final = settings(
    PROFILES["default"].machine,
    database=None,
    derandomize=True,
    max_examples=1_000,
    phases=[Phase.generate],
    print_blob=False,
)
ENOUGH: Final = settings(SAMPLE, max_examples=2_000)
CONFIG: Final = DecoderConfig(
    vocab_size=3,
    d_model=8,
    n_heads=2,
    n_kv_heads=1,
    d_ff=5,
    n_layers=2,
    capacity=5,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)


def sample(strategy: st.SearchStrategy[T]) -> list[T]:
    drawn = list[T]()

    @SAMPLE
    @given(strategy)
    def draw(value: T) -> None:
        drawn.append(value)

    draw()
    return drawn


@functools.cache
def sampled_configs() -> Sequence[DecoderConfig]:
    return sample(configs())


@functools.cache
def sampled_weights(dtype: DType = "float64") -> Sequence[Weights]:
    return sample(weights(dtype))


def share(drawn: Sequence[T], is_so: Callable[[T], bool]) -> float:
    return sum(map(is_so, drawn)) / len(drawn)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(lambda c: c.n_layers == 0, id="no-block"),
        pytest.param(lambda c: c.n_layers == 1, id="one-block"),
        pytest.param(lambda c: c.n_layers > 2, id="three-blocks"),
        pytest.param(lambda c: c.n_heads == 1, id="one-head"),
        pytest.param(lambda c: c.n_kv_heads == 1 < c.n_heads, id="one-shared-head"),
        pytest.param(lambda c: c.n_kv_heads == c.n_heads > 1, id="no-shared-head"),
        pytest.param(
            lambda c: 1 < c.n_kv_heads < c.n_heads >= 4, id="some-shared-heads"
        ),
        pytest.param(lambda c: c.capacity == 1, id="room-for-one"),
        pytest.param(lambda c: c.capacity == 9, id="room-beyond-eight"),
        pytest.param(lambda c: c.capacity == 17, id="room-beyond-sixteen"),
        pytest.param(lambda c: c.capacity == 33, id="room-beyond-thirty-two"),
        pytest.param(lambda c: c.rms_epsilon == 0, id="no-epsilon"),
        pytest.param(lambda c: c.d_ff % 2 == 1 < c.d_ff, id="odd-width"),
        pytest.param(lambda c: c.head_dim > 2, id="two-frequencies"),
        pytest.param(lambda c: c.dtype == "float32", id="narrow"),
    ],
)
def test_configs_reach(shape: Callable[[DecoderConfig], bool]) -> None:
    assert shape(find(configs(), shape, settings=ENOUGH))


@pytest.mark.parametrize(
    ("least", "is_so"),
    [
        pytest.param(1.0, lambda c: c.vocab_size >= 2, id="two-tokens"),
        pytest.param(0.6, lambda c: c.n_layers >= 2, id="two-blocks"),
        pytest.param(0.1, lambda c: 1 < c.n_kv_heads < c.n_heads, id="groups"),
        pytest.param(0.8, lambda c: c.capacity <= 9, id="short"),
        pytest.param(0.8, lambda c: c.n_heads <= 4, id="few-heads"),
        pytest.param(0.65, lambda c: c.dtype == "float64", id="wide"),
        pytest.param(0.15, lambda c: c.dtype == "float32", id="narrow"),
    ],
)
def test_most_configs_are(least: float, is_so: Callable[[DecoderConfig], bool]) -> None:
    assert share(sampled_configs(), is_so) >= least


def test_configs_shrink_to_one_head_of_two_features() -> None:
    smallest = find(configs(), lambda _: True, settings=PROFILES["quick"].machine)

    assert (smallest.n_heads, smallest.head_dim, smallest.n_layers) == (1, 2, 2)
    assert smallest.dtype == "float64"


def test_scripts_begin_with_the_scales_of_their_dtype() -> None:
    begun_in: dict[str, set[float]] = {"float64": set(), "float32": set()}
    for script in sample(begun(configs())):
        begun_in[script.config.dtype].add(script.weights.scale)

    assert max(begun_in["float32"]) == 1e38
    assert max(begun_in["float64"]) == 1e300


@pytest.mark.parametrize(
    ("dtype", "small", "large"),
    [
        ("float64", {1e-160, 1e-25, 1e-8}, {1e40, 2e51, 1e77, 1e154, 1e300}),
        ("float32", {1e-25, 1e-20, 1e-8}, {1e5, 2e6, 1e9, 1e19, 1e38}),
    ],
)
def test_weights_have_every_scale_but_zero(
    dtype: DType, small: set[float], large: set[float]
) -> None:
    drawn = {each.scale for each in sampled_weights(dtype)}

    assert drawn == {0.02, 1.0, 3.0} | small | large


@pytest.mark.parametrize("dtype", get_args(DType))
def test_weights_have_the_chapters_scale_by_default(dtype: DType) -> None:
    assert share(sampled_weights(dtype), lambda each: each.scale == 1) >= 0.5


@pytest.mark.parametrize(("dtype", "beyond"), [("float64", 1e60), ("float32", 1e8)])
def test_weights_overflow_in_few_scripts(dtype: DType, beyond: float) -> None:
    drawn = sampled_weights(dtype)

    assert 0 < share(drawn, lambda each: each.scale > beyond) <= 0.08


def test_weights_spread_most_gains() -> None:
    spreads = Counter(each.gain_spread for each in sampled_weights())

    assert spreads[0.5] > spreads[0.0] > 0


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [
        *(("float64", scale) for scale in (1e-160, 1e-25, 1e-8, 0.02, 1.0, 3.0, 1e40)),
        *(("float32", scale) for scale in (1e-25, 1e-20, 1e-8, 0.02, 1.0, 3.0, 1e5)),
    ],
)
def test_weights_are_finite_at(dtype: DType, scale: float) -> None:
    config = replace(CONFIG, dtype=dtype)
    made = initial_weights(config, Weights(seed=1, scale=scale, gain_spread=0.9))

    assert np.isfinite(replay(config, made, (0, 1, 2, 1, 0)).logits).all()


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [
        *(("float64", scale) for scale in (1e77, 1e154, 1e300)),
        *(("float32", scale) for scale in (1e9, 1e19, 1e38)),
    ],
)
def test_weights_overflow_in_the_first_prompt(dtype: DType, scale: float) -> None:
    config = replace(CONFIG, dtype=dtype)
    made = initial_weights(config, Weights(seed=1, scale=scale))

    with pytest.raises(StageFailed):
        replay(config, made, (0, 1))


@pytest.mark.parametrize(("dtype", "scale"), [("float64", 2e51), ("float32", 2e6)])
def test_weights_overflow_at_some_tokens(dtype: DType, scale: float) -> None:
    config = replace(CONFIG, dtype=dtype)
    fails = [
        not can_replay(config, Weights(seed=seed, scale=scale)) for seed in range(30)
    ]

    assert {*fails} == {True, False}


def can_replay(config: DecoderConfig, made: Weights) -> bool:
    try:
        replay(config, initial_weights(config, made), (0,))
    except StageFailed:
        return False
    return True
