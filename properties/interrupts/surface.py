"""Which calls the engine offers, and which of them a call makes."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Final

import engine
from properties.interrupts.boundaries import in_engine

LEFT_OUT: Final[Mapping[str, str]] = {
    "EngineError": "an error of any class reads its own fields and nothing else",
    "DecoderSession.__init__": "only a bind makes sessions",
}
"""Calls without a scene, and why they need none."""


def public_calls() -> dict[CodeType, str]:
    """Every function, constructor, method and property of a public name, by its code.

    What is left to Python, such as the constructor of a named tuple, executes no
    bytecode of the engine. All methods of errors go by one name.
    """
    return {
        function.__code__: name
        for public in engine.__all__
        for name, function in _functions(public, getattr(engine, public))
        if in_engine(function.__code__.co_filename)
    }


def entered(call: Callable[[], object]) -> set[CodeType]:
    """The code of each function of the engine that is called from outside of it."""
    seen: set[CodeType] = set()

    def profile(frame: FrameType, event: str, _: object) -> None:
        code, caller = frame.f_code, frame.f_back
        is_inside = caller is not None and in_engine(caller.f_code.co_filename)
        if event == "call" and in_engine(code.co_filename) and not is_inside:
            seen.add(code)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen


def _functions(name: str, value: object) -> Iterator[tuple[str, Callable[..., object]]]:
    """A function itself, or those that a class defines and anybody may call."""
    if inspect.isfunction(value):
        yield name, value
    if not isinstance(value, type):
        return
    is_error = issubclass(value, engine.EngineError)
    for attribute, found in vars(value).items():
        if attribute.startswith("_") and not attribute.startswith("__"):
            continue
        parts = (found.fget, found.fset) if isinstance(found, property) else (found,)
        for part in parts:
            function = getattr(part, "__func__", part)  # of a class method
            if inspect.isfunction(function):
                yield "EngineError" if is_error else f"{name}.{attribute}", function
