"""Raising ``KeyboardInterrupt`` between any two bytecodes of a call."""

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from secrets import randbelow
from types import FrameType
from typing import Final, NamedTuple, TypeAlias

EVERY_BOUNDARY_UP_TO: Final = 1_500
TRIES: Final = 100
"""Boundaries that are tried in a longer call, evenly spaced from a random one on."""

_TESTS: Final = str(Path(__file__).parent)
_Trace: TypeAlias = "Callable[[FrameType, str, object], _Trace | None]"


Run: TypeAlias = Callable[[Callable[[], object], int | None], int]


class Scene(NamedTuple):
    """A call to interrupt, and what must hold inside the ``except`` block after it."""

    call: Callable[[], object]
    check: Callable[[], None]


def sweep(arrange: Callable[[], Scene], run: Run | None = None) -> int:
    """Interrupt a call at its boundaries, each time in a new scene.

    Args:
        arrange: makes a scene
        run: ``by_bytecode``, unless another kind of boundary is meant

    Returns:
        How many boundaries the call has.
    """
    run = run or by_bytecode
    total = run(arrange().call, None)
    assert total > 0
    stride = 1 if total <= EVERY_BOUNDARY_UP_TO else total // TRIES
    for boundary in range(1 + randbelow(stride), total + 1, stride):
        scene = arrange()
        try:
            run(scene.call, boundary)
        except KeyboardInterrupt:
            _check(scene.check, boundary)
    return total


def boundaries(call: Callable[[], object]) -> int:
    """Bytecodes of a call and of all that it calls, without those of the tests."""
    return by_bytecode(call, None)


def by_event(call: Callable[[], object], interrupted_at: int | None) -> int:
    """Interrupt where a function is called or returns: less fine than by bytecode.

    But what traces, such as the measurement of coverage, sees all that follows.
    """
    counter = count(1)
    latest = 0

    def profile(frame: FrameType, _event: str, value: object) -> None:
        nonlocal latest
        del value  # the traceback would keep what a function returns, a session even
        if not frame.f_code.co_filename.startswith(_TESTS):
            latest = next(counter)
            if latest == interrupted_at:
                raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return latest


def _check(check: Callable[[], None], boundary: int) -> None:
    try:
        check()
    except BaseException as error:
        error.add_note(f"interrupted at boundary {boundary}")
        raise


def by_bytecode(call: Callable[[], object], interrupted_at: int | None) -> int:
    """Interrupt before a bytecode; ``None`` only counts them."""
    counter = count(1)
    latest = 0

    def trace(frame: FrameType, event: str, _: object) -> "_Trace | None":
        nonlocal latest
        if frame.f_code.co_filename.startswith(_TESTS):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            latest = next(counter)
            if latest == interrupted_at:
                raise KeyboardInterrupt
        return trace

    # What traces already, such as the measurement of coverage, goes on afterwards.
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return latest
