"""Undoing on every way out that is not a return."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def or_undo(function: Callable[[], T], undo: Callable[[], object]) -> T:
    """Call a function, and undo if it does not return.

    It is undone twice: an error leaves through a handler, and an interrupt may reach
    that one too. What is returned is in no local on its way, so that a traceback that
    an interrupt leaves does not keep it.
    """
    try:
        try:
            return function()
        except BaseException:
            undo()
            raise
    except BaseException:
        undo()
        raise
