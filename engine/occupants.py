"""Who is inside at this moment: a set of frames, so that nobody stays in for ever.

A flag, and a lock too, leaves a bytecode or two in which an interrupt keeps it set. A
frame says by itself whether it still runs: it is on some thread's stack, or it is dead,
even while a kept traceback holds it. So a call first adds its own frame and only then
looks at who else is there; the dead are dropped.
"""

import sys
from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
from types import FrameType
from typing import ParamSpec, TypeVar

from engine.errors import SessionBusy

P = ParamSpec("P")
T = TypeVar("T")


class Occupants(set[FrameType]):
    """The frames of the calls that are inside; adding and removing are one operation."""

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
    """Call a function with a frame of this call inside every place, on no way out.

    Entering all places, or leaving them, has no bytecode boundary in between. Leaving
    is inside the ``try``: a ``finally`` has a boundary before its first operation, at
    which an interrupt would leave the frame behind, and all that it refers to.
    """
    try:
        deque(map(set.add, places, repeat(sys._getframe())), maxlen=0)
        result = function(*args, **kwargs)
        deque(map(set.discard, places, repeat(sys._getframe())), maxlen=0)
    except BaseException:
        deque(map(set.discard, places, repeat(sys._getframe())), maxlen=0)
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
