"""Array aliases: rank and dtype in the type, axes in the comment."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

_Float64: TypeAlias = np.dtype[np.float64]

Array: TypeAlias = np.ndarray[tuple[int, ...], _Float64]  # any rank
Vector: TypeAlias = np.ndarray[tuple[int], _Float64]  # (features,)
Matrix: TypeAlias = np.ndarray[tuple[int, int], _Float64]  # (rows, features)
Heads: TypeAlias = np.ndarray[
    tuple[int, int, int], _Float64
]  # (heads, n_tokens, head_dim)
Rotation: TypeAlias = np.ndarray[
    tuple[int], np.dtype[np.complex128]
]  # (head_dim / 2,), one unit complex number a pair

Numbers: TypeAlias = Array | Sequence[float] | Sequence[Sequence[float]]
"""What a caller may give for an array; it is copied."""


def read_only_copy(array: Array) -> Array:
    """A copy whose elements cannot be set."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy
