"""Floating-point flags, set in contexts of their own and never in the caller's.

``with np.errstate(...)`` leaves a bytecode or two in which an interrupt would keep the
setting in the caller's thread. ``Context.run`` enters and leaves in one operation.
"""

import math
from collections.abc import Callable
from contextvars import Context
from functools import partial
from typing import Final, Literal, ParamSpec, TypeVar

import numpy as np

from engine.arrays import Array, DType, Vector
from engine.errors import NonFinite

P = ParamSpec("P")
T = TypeVar("T")


def _context(verdict: Literal["raise", "ignore"]) -> Context:
    context = Context()
    setting = partial(np.seterr, over=verdict, invalid=verdict, divide=verdict)
    context.run(setting, under="ignore")  # underflow is legal: exp(-800) is 0
    return context


_RAISING: Final = _context("raise")
_SILENT: Final = _context("ignore")


def raising(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function; a value that becomes infinite or NaN is FloatingPointError."""
    return _RAISING.copy().run(function, *args, **kwargs)


def silently(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function; values may become infinite or NaN without a warning."""
    return _SILENT.copy().run(function, *args, **kwargs)


def rounded(number: float, dtype: DType) -> float:
    """The nearest number of a dtype; infinite where none is as large."""
    nearest: Array = silently(np.array, number, dtype)
    return float(nearest)


def is_surely_finite(values: Vector) -> bool:
    """Whether the sum of squares is finite: quick, and never true for a bad value."""
    return math.isfinite(values.dot(values))


def require_finite(values: Array) -> None:
    """Judge an array of any shape.

    Raises:
        NonFinite: the first value, in row-major order, that is not finite.
    """
    finite = np.isfinite(values)
    if not finite.all():
        index = int(np.argmin(finite))
        raise NonFinite(index, float(values.flat[index]))
