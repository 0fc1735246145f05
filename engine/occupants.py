"""Who is inside at this moment: a set of frames, so that nobody stays in for ever.

A flag, and a lock too, leaves a bytecode or two in which an interrupt keeps it set. A
frame says by itself whether it still runs, even while a kept traceback holds it. So a
call first adds its own frame and only then looks at who else is there; the dead are
dropped.
"""

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import ParamSpec, TypeVar

from engine.errors import SessionBusy

P = ParamSpec("P")
T = TypeVar("T")


class Occupants(set[FrameType]):
    """The frames of the calls that are inside."""

    __slots__ = ()

    def count(self) -> int:
        """How many running calls are inside; the dead are dropped."""
        for frame in tuple(self):
            if not _is_running(frame):
                self.discard(frame)
        return len(self)

    def refuse_company(self) -> None:
        """Refuse to go on beside another call.

        Raises:
            SessionBusy: more than one running call is inside; nothing changed.
        """
        if len(self) > 1 and self.count() > 1:
            raise SessionBusy


def run_inside(
    places: Sequence[Occupants],
    function: Callable[P, T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Call a function while this call's frame is inside every place.

    An interrupt may come between any two bytecodes, on the way out too. Leaving is
    inside the ``try``, since a ``finally`` has a boundary before its first operation;
    and it is tried twice, since a refusal leaves through a handler that may itself be
    interrupted. A frame that stayed would keep all that it refers to. No local has the
    frame, which would then refer to itself.
    """
    try:
        try:
            for place in places:
                place.add(sys._getframe())
            result = function(*args, **kwargs)
            _leave(places, sys._getframe())
        except BaseException:
            _leave(places, sys._getframe())
            raise
    except BaseException:
        _leave(places, sys._getframe())
        raise
    return result


def _leave(places: Sequence[Occupants], frame: FrameType) -> None:
    for place in places:
        place.discard(frame)


def _is_running(frame: FrameType) -> bool:
    """Ask the interpreter in one operation: a frame that still runs refuses this.

    One that does not gives up what it refers to. Looking for it on the stacks of all
    threads would take many operations, while those stacks move.
    """
    try:
        frame.clear()
    except RuntimeError:
        return True
    return False
