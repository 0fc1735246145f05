"""``Injector``: a probe that raises where it is told."""

import math
from collections.abc import Mapping
from typing import Final

from engine import Stage, StageFailed
from engine.arrays import Array
from properties.points import Point
from properties.script import Fault, FaultKind


class Injected(Exception):
    """An ordinary exception, of no class that anybody else raises."""


_CLASSES: Final[Mapping[FaultKind, type[BaseException]]] = {
    "Exception": Injected,
    "MemoryError": MemoryError,
    "FloatingPointError": FloatingPointError,
    "KeyboardInterrupt": KeyboardInterrupt,
}


class Injector:
    """Watches every point of a call, and raises at one, or from that one on.

    Attributes:
        struck: the point at which it raised in the latest call, if it did
        raised: what it raised there
    """

    def __init__(self) -> None:
        self.struck: Point | None = None
        self.raised: BaseException | None = None
        self._fault: Fault | None = None
        self._n_passed = 0

    def begin(self, fault: Fault | None) -> None:
        """A call begins, in which this has to happen."""
        self.struck, self.raised = None, None
        self._fault, self._n_passed = fault, 0

    def __call__(
        self, stage: Stage, layer: int | None, position: int, value: Array
    ) -> None:
        """As an engine calls its probe, which gets a copy to do as it likes with."""
        fault, passed = self._fault, self._n_passed
        _scribble(value)
        self._n_passed += 1
        if fault is None or passed < fault.point:
            return
        if passed == fault.point or fault.persists:
            self.struck = Point(stage, layer, position)
            self.raised = _CLASSES[fault.raises]()
            raise self.raised


def _scribble(value: Array) -> None:
    """Spoil what was handed out, as far as it can be; it should be nobody's else."""
    try:
        value.flags.writeable = True
    except ValueError:
        return  # it is a view of what cannot be written
    value[...] = math.nan


def as_raised(fault: Fault, point: Point) -> BaseException:
    """What must come out of a call in which a fault strikes at a point."""
    cause = _CLASSES[fault.raises]()
    if not isinstance(cause, Exception):
        return cause
    failure = StageFailed(point.stage, point.layer)
    failure.__cause__ = cause
    return failure
