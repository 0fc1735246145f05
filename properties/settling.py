"""At the edge of overflow both verdicts are right: what is due follows the engine."""

from collections.abc import Callable
from typing import TypeGuard, TypeVar

from engine import NonFinite, StageFailed, ZeroEnergyRow
from properties.subject import Answer

T = TypeVar("T")


def settled(
    came: Answer | BaseException,
    due: Callable[[], T],
    can_fail: Callable[[StageFailed], bool],
    can_pass: Callable[[], bool],
) -> T:
    """What is due, or what else is right.

    Args:
        came: what the engine answered
        due: computes what is due
        can_fail: whether a failure of the engine is as right as what is due
        can_pass: whether an answer is, too; ``due`` then computes it

    Raises:
        StageFailed: the failure that is due, or the engine's that is as right.
    """
    try:
        made = due()
    except StageFailed:
        if isinstance(came, Answer) and can_pass():
            return due()
        if not is_of_numbers(came) or not can_fail(came):
            raise
    else:
        if not is_of_numbers(came) or not can_fail(came):
            return made
    raise came


def is_of_numbers(came: object) -> TypeGuard[StageFailed]:
    """Whether a computation failed by itself, and nothing else did."""
    if not isinstance(came, StageFailed):
        return False
    return isinstance(came.__cause__, NonFinite | ZeroEnergyRow)
