"""Weights of many kinds, and models to go with them; all are drawn anew."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from engine import DecoderConfig
from engine.arrays import Array, DType
from engine.decoder import layout

Maker: TypeAlias = Callable[[np.random.Generator, Array], Array]
"""Makes a matrix of uniform numbers of Xavier's range another one."""


def _times(factor: float) -> Maker:
    def scaled(rng: np.random.Generator, uniform: Array) -> Array:
        del rng
        return factor * uniform

    return scaled


def _positive(rng: np.random.Generator, uniform: Array) -> Array:
    del rng
    return np.abs(uniform)


def _signs(rng: np.random.Generator, uniform: Array) -> Array:
    del rng
    return np.where(uniform < 0, -1.0, 1.0)


def _of_rank_one(rng: np.random.Generator, uniform: Array) -> Array:
    matrix: Array = np.outer(uniform[:, 0], rng.uniform(-2, 2, uniform.shape[1]))
    return matrix


def _all_but_constant(rng: np.random.Generator, uniform: Array) -> Array:
    matrix: Array = np.abs(uniform).max() * (
        1 + 1e-3 * rng.uniform(-1, 1, uniform.shape)
    )
    return matrix


def _one_scale_each(rng: np.random.Generator, uniform: Array) -> Array:
    matrix: Array = uniform * 10.0 ** rng.uniform(-3, 3)
    return matrix


def _all_scales(rng: np.random.Generator, uniform: Array) -> Array:
    matrix: Array = uniform * 10.0 ** rng.uniform(-4, 4, uniform.shape)
    return matrix


def _integers(rng: np.random.Generator, uniform: Array) -> Array:
    matrix: Array = rng.integers(-2, 3, uniform.shape).astype(np.float64)
    return matrix


def _sparse(rng: np.random.Generator, uniform: Array) -> Array:
    matrix: Array = np.where(rng.uniform(size=uniform.shape) < 0.2, 3 * uniform, 0.0)
    return matrix


KINDS: Final[Mapping[str, Maker]] = {
    "xavier": _times(1.0),
    "positive": _positive,
    "signs": _signs,
    "all but constant": _all_but_constant,
    "of rank one": _of_rank_one,
    "integers": _integers,
    "sparse": _sparse,
    "10 times": _times(10.0),
    "1,000 times": _times(1e3),
    "1e-3 times": _times(1e-3),
    "1e-9 times": _times(1e-9),
    "1e-25 times": _times(1e-25),
    "one scale a matrix": _one_scale_each,
    "all scales": _all_scales,
}


class Drawn(NamedTuple):
    """A model and a prefix."""

    config: DecoderConfig
    weights: Mapping[str, Array]
    tokens: tuple[int, ...]


def drawn_model(rng: np.random.Generator, kind: str, dtype: DType) -> Drawn:
    """Sizes, an epsilon, weights of a kind and tokens."""
    n_heads, n_kv_heads = ((1, 1), (2, 1), (4, 2), (6, 3), (4, 4))[rng.integers(5)]
    config = DecoderConfig(
        vocab_size=int(rng.integers(2, 20)),
        d_model=n_heads * int(rng.choice([2, 4, 6, 16])),
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_ff=int(rng.integers(1, 40)),
        n_layers=int(rng.integers(5)),
        capacity=16,
        rope_base=float(rng.choice([1e4, 1.5])),
        rms_epsilon=float(rng.choice([1e-6, 1e-2, 0.0])),
        dtype=dtype,
    )
    tokens = rng.integers(config.vocab_size, size=rng.integers(1, 13))
    return Drawn(config, drawn_weights(rng, config, kind), tuple(tokens.tolist()))


def drawn_weights(
    rng: np.random.Generator, config: DecoderConfig, kind: str
) -> Mapping[str, Array]:
    """Weights of a kind; gains in 0.5 … 1.5."""
    weights = dict[str, Array]()
    for name, shape in layout(config):
        uniform: Array = rng.uniform(-1, 1, shape)
        if len(shape) == 1:
            value: Array = 1 + uniform / 2
        else:
            value = KINDS[kind](rng, np.sqrt(6 / sum(shape)) * uniform)
        weights[name] = value.astype(config.float_type)
    return weights
