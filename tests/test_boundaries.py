"""An exception comes between the two bytecodes that were chosen, and is gone after."""

import gc
import sys
from contextlib import suppress
from types import FrameType

import pytest

from engine import SplitMix64
from properties.interrupts import SCENES
from properties.interrupts.boundaries import (
    Where,
    anywhere,
    boundaries,
    in_engine,
    in_libraries,
    interrupt,
)


def three() -> int:
    return len("one") + SplitMix64(7).state - 7


@pytest.mark.parametrize("where", [in_engine, in_libraries, anywhere])
def test_each_boundary_is_struck_once(where: Where) -> None:
    total = boundaries(three, where)
    struck = []
    for boundary in range(1, total + 2):
        error = KeyboardInterrupt()
        try:
            interrupt(three, where, boundary, error)
        except KeyboardInterrupt as raised:
            struck.append((boundary, raised is error))

    assert struck == [(each, True) for each in range(1, total + 1)]


def test_boundaries_are_counted_apart() -> None:
    inside, outside = (boundaries(three, each) for each in (in_engine, in_libraries))

    assert inside > 0
    assert outside > 0
    assert boundaries(dict) == 0


def test_who_traced_before_traces_on() -> None:
    def trace(_frame: FrameType, _event: str, _: object) -> None:
        """Trace nothing."""

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        boundaries(three)
        kept = sys.gettrace()
    finally:
        sys.settrace(before)

    assert kept is trace


def test_collector_rests_while_a_call_is_counted() -> None:
    seen: list[bool] = []

    boundaries(lambda: seen.append(gc.isenabled()))

    assert (seen, gc.isenabled()) == ([False], True)


def test_interrupts_leave_no_error_to_be_handled() -> None:
    """A handler that is struck is never left; what is raised later would tell of it."""
    for boundary in range(1, 600):
        scene = SCENES["refused decode"]()
        with suppress(KeyboardInterrupt):
            interrupt(scene.call, in_engine, boundary, KeyboardInterrupt())

    assert sys.exc_info() == (None, None, None)
