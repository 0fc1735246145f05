"""Engines that are half done once: each has other text in one place."""

import inspect
from collections.abc import Callable
from textwrap import dedent
from types import FunctionType
from typing import Final, NamedTuple

from engine import cache, checkpoint, files, optimizer, row
from engine.session import DecoderSession
from properties.interrupts import transaction_scenes


class Fault(NamedTuple):
    """A function of the engine, and other text for a part of it.

    Attributes:
        place: where the name is bound by which the engine calls it
        scene: the call in which it shows
        stride: less than the number of boundaries at which it shows
        tells: a part of what the sweep says
    """

    place: object
    name: str
    old: str
    new: str
    scene: str
    stride: int
    tells: str


FAULTS: Final = {
    "values are stored one by one": Fault(
        optimizer,
        "store_together",
        "deque(map(setattr, owners, attributes, values), maxlen=0)",
        "for each in zip(owners, attributes, values):\n        setattr(*each)",
        "later step",
        4,
        "parameters[1]",
    ),
    "a commit takes two stores": Fault(
        DecoderSession,
        "_commit",
        "prefix.state = State(length, work)",
        "prefix.state = State(length, prefix.state.work)\n"
        "    prefix.state = State(length, work)",
        "decode",
        4,
        "caches[0].work",
    ),
    "a prompt is committed row by row": Fault(
        DecoderSession,
        "_prefill",
        "newest = self._row(weights, token_ids[position], position)",
        "self._prefix.state = state._replace(length=position)\n"
        "        newest = self._row(weights, token_ids[position], position)",
        "prefill",
        100,
        "caches[0].length",
    ),
    "a reset takes two stores": Fault(
        DecoderSession,
        "_reset",
        "self._prefix.state = State(0, Work())",
        "self._prefix.state = State(0, self._prefix.state.work)\n"
        "    self._prefix.state = State(0, Work())",
        "reset",
        1,
        "caches[0].work",
    ),
    "a close gives back in two steps": Fault(
        DecoderSession,
        "_give_back",
        "self._lease = None",
        "self._cache._tenants.clear()\n    self._lease = None",
        "close",
        1,
        "answers of the next calls",
    ),
    "an interrupted bind stays open": Fault(
        cache.KVCache,
        "bind",
        "return or_undo(\n"
        "        lambda: self._opened(made, decoder, probe), lambda: _close_all(made)\n"
        "    )",
        "return self._opened(made, decoder, probe)",
        "bind",
        50,
        "came   in use",
    ),
    "a generation draws from what was given": Fault(
        transaction_scenes,
        "generate",
        "stream = SplitMix64(state_of(rng))",
        "stream = rng",
        "generate top-k",
        200,
        "generator",
    ),
    "a file is written in place": Fault(
        checkpoint,
        "replace_file",
        "replace_files([(path, content)], lambda: None)",
        'with open(path, "wb") as file:\n        file.write(content)',
        "save over an older file",
        4,
        "saved: 0 bytes",
    ),
    "a half-written file stays": Fault(
        files,
        "replace_files",
        "or_undo(write, forget)",
        "write()",
        "save",
        20,
        ".partial: ",
    ),
    "a stage takes any exception for its own": Fault(
        row,
        "_is_sound",
        "except (FloatingPointError, NonFinite):",
        "except BaseException:",
        "decode",
        200,
        "it was swallowed",
    ),
}


def rewritten(function: Callable[..., object], old: str, new: str) -> FunctionType:
    """A function of the engine with other text, whose bytecodes are the engine's."""
    lines, first = inspect.getsourcelines(function)
    text = dedent("".join(lines))
    assert text.count(old) == 1
    assert isinstance(function, FunctionType)
    file, made = function.__code__.co_filename, dict[str, FunctionType]()
    padded = "\n" * (first - 1) + text.replace(old, new)
    exec(compile(padded, file, "exec"), function.__globals__, made)  # noqa: S102 # the engine's own text
    return made[function.__name__]
