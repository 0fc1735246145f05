"""Who is inside at this moment: a set of frames, so that nobody stays in for ever.

A flag, and a lock too, leaves a bytecode or two in which an interrupt keeps it set. A
frame says by itself whether it still runs: it is on some thread's stack, or it is dead,
even while a kept traceback holds it. So a call first adds its own frame and only then
looks at who else is there; the dead are dropped.
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

    Leaving is inside the ``try``: a ``finally`` has a boundary before its first
    operation, at which an interrupt would leave the frame behind, and with it all that
    it refers to. No local has the frame, which would then refer to itself.
    """
    try:
        for place in places:
            place.add(sys._getframe())
        result = function(*args, **kwargs)
        for place in places:
            place.discard(sys._getframe())
    except BaseException:
        for place in places:
            place.discard(sys._getframe())
        raise
    return result


def _is_running(frame: FrameType) -> bool:
    for top in sys._current_frames().values():
        running: FrameType | None = top
        while running is not None:
            if running is frame:
                return True
            running = running.f_back
    return False
