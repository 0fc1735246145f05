"""Raising an exception between two bytecodes of a call, at a boundary that is chosen.

CPython 3.11 tells a tracer of every bytecode. From 3.12 on tracing misses some, and
``sys.monitoring`` tells of all of them. What is raised there goes on as if the
bytecode itself had raised it. A real signal strikes at some of these places only.
"""

import gc
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, TypeAlias

import engine

Where: TypeAlias = Callable[[str], bool]
"""Whether the bytecodes of a file count."""

_ENGINE: Final = Path(engine.__file__).parent
_HUNTS: Final = Path(__file__).parents[1]


def anywhere(file: str) -> bool:
    """Every bytecode counts, but for those of this file."""
    return file != __file__


@cache
def in_engine(file: str) -> bool:
    """Bytecodes of ``engine`` count."""
    return Path(file).is_relative_to(_ENGINE)


@cache
def in_libraries(file: str) -> bool:
    """Bytecodes of what ``engine`` calls count, generated methods of records too."""
    return not in_engine(file) and not Path(file).is_relative_to(_HUNTS)


def boundaries(call: Callable[[], object], where: Where = anywhere) -> int:
    """How many bytecodes a call executes; there is a boundary before each."""
    return _with_collector_at_rest(call, where, 0, KeyboardInterrupt())


def interrupt(
    call: Callable[[], object], where: Where, boundary: int, error: BaseException
) -> None:
    """Make a call, and raise an error at a boundary.

    Args:
        call: what traces already, such as the measurement of coverage, goes on after it
        where: which bytecodes count
        boundary: 1 is before the first bytecode that counts
        error: comes out, unless something on the way catches it
    """
    _with_collector_at_rest(call, where, boundary, error)


def _with_collector_at_rest(
    call: Callable[[], object], where: Where, boundary: int, error: BaseException
) -> int:
    """What it would call at moments of its own is no part of the call."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        return next(_apart(call, where, boundary, error))
    finally:
        if is_enabled:
            gc.enable()


def _apart(
    call: Callable[[], object], where: Where, boundary: int, error: BaseException
) -> Iterator[int]:
    """What an interrupt within a handler leaves to be handled ends with a generator.

    Else it would be the context of whatever is raised later in this thread.
    """
    yield _run(call, where, boundary, error)


if sys.version_info >= (3, 12):
    _MONITORING: Final = sys.monitoring
    _INSTRUCTION: Final = sys.monitoring.events.INSTRUCTION
    _N_TOOLS: Final = 6

    def _run(
        call: Callable[[], object], where: Where, boundary: int, error: BaseException
    ) -> int:
        """Count until the call ends, and raise where the boundary is."""
        count = 0

        def at_instruction(code: CodeType, _offset: int) -> object:
            nonlocal count
            if not where(code.co_filename):
                return _MONITORING.DISABLE
            count += 1
            if count == boundary:
                raise error
            return None

        tool = next(
            each for each in range(_N_TOOLS) if _MONITORING.get_tool(each) is None
        )
        _MONITORING.use_tool_id(tool, __name__)
        try:
            _MONITORING.register_callback(tool, _INSTRUCTION, at_instruction)
            _MONITORING.set_events(tool, _INSTRUCTION)
            _MONITORING.restart_events()
            call()
        finally:
            _MONITORING.set_events(tool, 0)
            _MONITORING.register_callback(tool, _INSTRUCTION, None)
            _MONITORING.free_tool_id(tool)
        return count

else:
    _Trace: TypeAlias = "Callable[[FrameType, str, object], _Trace | None]"

    def _run(
        call: Callable[[], object], where: Where, boundary: int, error: BaseException
    ) -> int:
        """Count until the call ends, and raise where the boundary is."""
        count = 0

        def enter(frame: FrameType, _event: str, _: object) -> "_Trace | None":
            if not where(frame.f_code.co_filename):
                return None
            frame.f_trace_lines = False
            frame.f_trace_opcodes = True
            return at_event

        def at_event(_frame: FrameType, event: str, _: object) -> "_Trace":
            nonlocal count
            if event == "opcode":
                count += 1
                if count == boundary:
                    raise error
            return at_event

        before = sys.gettrace()
        sys.settrace(enter)
        try:
            call()
        finally:
            sys.settrace(before)
        return count
