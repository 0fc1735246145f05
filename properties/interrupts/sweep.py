"""A call interrupted at one boundary after the other, each time in a new scene."""

import linecache
from dataclasses import dataclass
from pathlib import Path
from secrets import randbelow
from time import perf_counter
from traceback import walk_tb
from typing import NamedTuple, TypeAlias

from properties.interrupts.boundaries import (
    Where,
    boundaries,
    in_engine,
    in_libraries,
)
from properties.interrupts.scene import Arrange
from properties.interrupts.strike import Undisturbed, Unlike, strike

Raises: TypeAlias = type[KeyboardInterrupt | MemoryError]


class Tally(NamedTuple):
    """Boundaries of one kind that a call has, and what was found at those tried.

    Attributes:
        n_boundaries: that the call has
        n_before: how often it had not happened; a call that changes nothing never has
        n_after: how often it had
    """

    n_boundaries: int
    n_before: int
    n_after: int

    @property
    def n_swept(self) -> int:
        """How often the call was interrupted."""
        return self.n_before + self.n_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """One call, interrupted at some of its boundaries or at all.

    Attributes:
        name: of its scene
        raises: the name of what was raised
        engine: before bytecodes of the engine
        libraries: before bytecodes of what the engine calls
    """

    name: str
    raises: str
    engine: Tally
    libraries: Tally
    seconds: float


@dataclass(eq=False)
class HalfDone(AssertionError):
    """A3 is broken: an interrupted call neither happened nor did not."""

    name: str
    raises: str
    boundary: int
    place: str
    found: str

    def __str__(self) -> str:
        return (
            f"A3 interrupt: {self.name}, {self.raises} at boundary {self.boundary}\n"
            f"  {self.place}\n  {self.found}\n"
            f"run it again: python -m properties interrupts --call '{self.name}'"
        )


def sweep(
    name: str, arrange: Arrange, raises: Raises = KeyboardInterrupt, stride: int = 1
) -> Swept:
    """Interrupt a call at its boundaries, beginning with a random one of the first.

    In the libraries there may be fifty times as many, so no more are tried there than
    a quarter of those in the engine, evenly spaced.

    Args:
        name: of the scene
        arrange: makes the scene anew
        raises: what the interrupt is
        stride: from one boundary that is tried to the next; 1 is all

    Raises:
        HalfDone: a call left something in between, or what came next was disturbed.
    """
    began = perf_counter()
    series = _Series(name, arrange, raises, Undisturbed.of(arrange()))
    n_engine, n_libraries = series.count(in_engine), series.count(in_libraries)
    spaced = max(stride, -(-4 * stride * n_libraries // max(n_engine, 1)))
    return Swept(
        name=name,
        raises=raises.__name__,
        engine=series.tally(in_engine, n_engine, stride),
        libraries=series.tally(in_libraries, n_libraries, spaced),
        seconds=perf_counter() - began,
    )


class _Series(NamedTuple):
    """One call, and the interrupts that are tried."""

    name: str
    arrange: Arrange
    raises: Raises
    due: Undisturbed

    def count(self, where: Where) -> int:
        scene = self.arrange()
        total = boundaries(scene.call, where)
        scene.end()
        return total

    def tally(self, where: Where, n_boundaries: int, stride: int) -> Tally:
        tries = range(1 + randbelow(stride), n_boundaries + 1, stride)
        happened = [self._happened(where, boundary) for boundary in tries]
        return Tally(n_boundaries, happened.count(False), happened.count(True))

    def _happened(self, where: Where, boundary: int) -> bool:
        scene, error = self.arrange(), self.raises()
        try:
            happened = strike(scene, self.due, where, boundary, error)
            error.__traceback__ = None
            scene.end()
        except Exception as found:
            told = str(found) if isinstance(found, Unlike) else f"then came {found!r}"
            raise HalfDone(
                self.name, self.raises.__name__, boundary, _place(error), told
            ) from found
        return happened


def _place(error: BaseException) -> str:
    """The line of the engine that was struck, or that had called what was."""
    for frame, line in reversed([*walk_tb(error.__traceback__)]):
        code = frame.f_code
        if in_engine(code.co_filename):
            at = line or code.co_firstlineno  # not every bytecode is of a line
            source = linecache.getline(code.co_filename, at).strip()
            name = "/".join(Path(code.co_filename).parts[-2:])
            return f"{name}:{at} in {code.co_name}: {source}"
    return "outside of the engine"
