"""Threads that stop where they are told to, so that an interleaving can be chosen."""

import sys
from collections.abc import Callable
from threading import Semaphore, Thread
from types import FrameType
from typing import Final, Generic, TypeAlias, TypeVar

from engine import EngineError

T = TypeVar("T")
_Trace: TypeAlias = "Callable[[FrameType, str, object], _Trace | None]"

PATIENCE: Final = 30.0
"""Seconds after which a thread is held to be lost; none ever waits for another."""


class Puppet(Generic[T]):
    """A call in a thread of its own, taken from bytecode to bytecode.

    ``count`` tells how many it has passed.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self.results: list[T] = []
        self.refusals: list[EngineError] = []
        self._call = call
        self.count = 0
        self._target = 0
        self._has_ended = False
        self._go = Semaphore(0)
        self._stopped = Semaphore(0)
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def run_to(self, boundary: int) -> None:
        """Run on to a boundary, or to the end if that comes first."""
        if self._has_ended:
            return
        self._target = boundary
        self._go.release()
        assert self._stopped.acquire(timeout=PATIENCE)

    def finish(self) -> None:
        """Run to the end; errors that are not the engine's go to the test runner."""
        self._target = -1
        self._go.release()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        self._go.acquire()
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            self.results.append(self._call())
        except EngineError as error:
            self.refusals.append(error)
        finally:
            sys.settrace(before)
            self._has_ended = True
            self._stopped.release()

    def _trace(self, frame: FrameType, event: str, _: object) -> "_Trace | None":
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.count += 1
            if self.count == self._target:
                self._stopped.release()
                self._go.acquire()
        return self._trace
