"""The decoder's arithmetic for one row: pure functions of arrays."""

import math
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np

from engine.arrays import DType, Heads, Matrix, Rotation, Vector
from engine.errors import ZeroEnergyRow
from engine.floating import is_surely_finite, require_finite

AnyHeads = TypeVar("AnyHeads", Matrix, Heads)

_COMPLEX: Final = {"float64": np.complex128, "float32": np.complex64}


def rms_norm(x: Vector, gain: Vector, epsilon: float, position: int) -> Vector:
    """A row divided by its root mean square, and scaled.

    Args:
        x: (d_model,)
        gain: (d_model,)
        epsilon: added to the mean square, a number of the row's dtype
        position: of the row, for the error

    Raises:
        NonFinite: the energy is infinite; dividing by it would hide that.
        ZeroEnergyRow: the mean square is 0, and so is epsilon.

    Source:
        Zhang and Sennrich 2019.
    """
    energy = float(x.dot(x)) / len(x) + epsilon
    if not math.isfinite(energy):
        require_finite(np.array([energy]))
    if energy == 0:
        raise ZeroEnergyRow(position)
    normed: Vector = x / math.sqrt(energy) * gain
    return normed


@lru_cache(maxsize=64)
def frequencies(head_dim: int, base: float) -> Vector:
    """The angle by which each pair of features turns in one position, (head_dim / 2,).

    Source:
        Su et al. 2021, section 3.2.2.
    """
    exponents = np.arange(0, head_dim, 2, dtype=np.float64) / -head_dim
    turns: Vector = np.power(base, exponents)
    turns.flags.writeable = False
    return turns


@lru_cache(maxsize=8192)
def rotation(position: int, head_dim: int, base: float, dtype: DType) -> Rotation:
    """One position's rotation of every pair, (head_dim / 2,); the same for all rows.

    Angles, cosines and sines are computed in binary64 and rounded once: at position
    4,096 a float32 angle would be off by 1e-4.
    """
    angles = position * frequencies(head_dim, base)
    unit: Rotation = np.empty(len(angles), dtype=_COMPLEX[dtype])
    np.cos(angles, out=unit.real)
    np.sin(angles, out=unit.imag)
    unit.flags.writeable = False
    return unit


def rotate(heads: AnyHeads, unit: Rotation) -> AnyHeads:
    """Heads with each adjacent pair of features turned by its rotation.

    Args:
        heads: (…, head_dim), contiguous
        unit: (head_dim / 2,)

    Returns:
        (…, head_dim)
    """
    turned: AnyHeads = (heads.view(unit.dtype) * unit).view(heads.dtype)
    return turned


def attention_scores(queries: Heads, keys: Heads) -> Heads:
    """Scaled dot products of the newest queries and all visible keys.

    Args:
        queries: (n_kv_heads, group_size, head_dim)
        keys: (n_kv_heads, n_keys, head_dim)

    Returns:
        (n_kv_heads, group_size, n_keys)

    Source:
        Vaswani et al. 2017, equation 1; Ainslie et al. 2023 for grouping.
    """
    head_dim = queries.shape[-1]
    scores: Heads = np.matmul(queries, keys.transpose(0, 2, 1)) / math.sqrt(head_dim)
    return scores


def softmax(scores: Heads) -> Heads:
    """Weights over the last axis, the largest score subtracted first.

    Args:
        scores: finite; a score of -inf would vanish here, so it is looked for

    Raises:
        FloatingPointError: a score is -inf.
    """
    if not is_surely_finite(scores.reshape(-1)) and scores.min() == -math.inf:
        message = "a score is -inf"
        raise FloatingPointError(message)
    weights: Heads = np.exp(scores - np.maximum.reduce(scores, axis=-1, keepdims=True))
    weights /= np.add.reduce(weights, axis=-1, keepdims=True)
    return weights


def silu(gate: Vector) -> Vector:
    """``gate * sigmoid(gate)``, whose exponents are never positive."""
    numerator = gate * np.exp(np.minimum(gate, 0.0))
    activated: Vector = numerator / (1.0 + np.exp(-np.abs(gate)))
    return activated
