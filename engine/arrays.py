"""Array aliases: rank and dtype in the type, axes in the comment.

One decoder has one of two dtypes, and all of its arrays have that one.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

_MOST_AXES: Final = 64  # of an array of NumPy's

DType: TypeAlias = Literal["float64", "float32"]
Float: TypeAlias = np.float64 | np.float32
_Floating: TypeAlias = np.dtype[Float]

Array: TypeAlias = np.ndarray[tuple[int, ...], _Floating]  # any rank
Vector: TypeAlias = np.ndarray[tuple[int], _Floating]  # (features,)
Matrix: TypeAlias = np.ndarray[tuple[int, int], _Floating]  # (rows, features)
Heads: TypeAlias = np.ndarray[
    tuple[int, int, int], _Floating
]  # (heads, n_tokens, head_dim)
Rotation: TypeAlias = np.ndarray[
    tuple[int], np.dtype[np.complex128 | np.complex64]
]  # (head_dim / 2,), one unit complex number a pair

Numbers: TypeAlias = Array | Sequence[float] | Sequence[Sequence[float]]
"""What a caller may give for an array; it is copied."""


def array_of(value: Numbers) -> Array | None:
    """The array that something is, or nothing.

    NumPy reads whatever has items, to an end that a caller's own class need not have,
    and that a range may have beyond all memory.
    """
    if not _has_end(value, _MOST_AXES):
        return None
    try:
        array: Array = np.asarray(value)
    except ValueError:  # such as rows of different lengths
        return None
    return array


def read_only_copy(array: Array) -> Array:
    """A copy whose elements cannot be set."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def _has_end(value: object, most_axes: int) -> bool:
    """Whether no object of a foreign class is read item by item."""
    kind = type(value)
    if kind in {list, tuple}:
        return most_axes > 0 and all(_has_end(each, most_axes - 1) for each in value)  # type: ignore[attr-defined] # lists and tuples can be read
    return (
        not hasattr(kind, "__getitem__")
        or hasattr(kind, "__array__")
        or (kind.__module__ in {"builtins", "array"} and kind is not range)
    )
