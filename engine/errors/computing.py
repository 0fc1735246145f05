"""Computations that failed before their commit."""

from dataclasses import dataclass

from engine.errors.families import EngineError, shown
from engine.stages import Stage


@dataclass(eq=False, repr=False)
class StageFailed(EngineError):
    """A stage failed before the commit; ``__cause__`` says why.

    After ``decode`` nothing changed. After ``prefill`` the cache is empty again.
    """

    stage: Stage
    layer: int | None

    def __str__(self) -> str:
        place = "" if self.layer is None else f" of block {self.layer}"
        return f"the stage {self.stage.value!r}{place} failed"


@dataclass(eq=False, repr=False)
class NonFinite(EngineError):
    """A stage formed a value that is not finite; ``index`` is flat."""

    index: int
    value: float

    def __str__(self) -> str:
        return f"the value at flat index {self.index} is {shown(self.value)}"


@dataclass(eq=False, repr=False)
class ZeroEnergyRow(EngineError):
    """A row to normalize has a mean square of 0, and epsilon is 0."""

    row: int

    def __str__(self) -> str:
        return f"the row at position {self.row} has a mean square of 0"


@dataclass(eq=False, repr=False)
class WorkOverflow(EngineError):
    """A counter would pass 2^64 - 1; nothing changed."""

    counter: str

    def __str__(self) -> str:
        return f"the counter {self.counter} would pass 2^64 - 1"
