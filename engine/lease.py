"""A session's hold on what it reads, and the one way into it that keeps no frame."""

from typing import TypeVar

from engine.row import Weights

T = TypeVar("T")


class Lease:
    """What an open session reads; all that it borrowed refers weakly to this object.

    Only the session holds it, in one attribute: clearing that gives everything back in
    one operation, and so does the collector. No frame may keep it in a local, which a
    kept traceback would keep alive.
    """

    __slots__ = ("__weakref__", "weights")

    weights: Weights


class Entry(property):
    """What ``with`` calls to enter: no frame that an interrupt could leave behind.

    ``with`` gets a weak reference to the session from here, and calling that gives the
    session. Whoever asks the class instead, as ``ExitStack`` does, calls this.
    """

    def __call__(self, session: T) -> T:
        """The session itself, as entering gives it."""
        return session
