"""Lines of plain Python: how a long one is broken, and what a program must import."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final

import engine

WIDTH: Final = 88
INDENTED: Final = WIDTH - 4
"""Columns of a line that may come to stand in a block."""
_DEEPEST: Final = 24  # columns that a broken line may begin with
FEW: Final = 2
"""Decodes in a row that are still lines of their own."""
_MANY: Final = 8
_FIRST: Final = re.compile(r"(?<![.\w])(cache|session)\b")
_IDLE: Final = re.compile(
    r"cache = KVCache\(decoder\)|cache\.fill_spare\(.*\)"
    r"|session = cache\.bind\(decoder(, probe)?\)|session\.close\(\)"
)

_STANDARD: Final = {
    "copy": "from copy import copy",
    "replace": "from dataclasses import replace",
    "suppress": "from contextlib import suppress",
    "TemporaryDirectory": "from tempfile import TemporaryDirectory",
    "count": "from itertools import count",
    "math": "import math",
    "np": "import numpy as np",
}


def filled(head: str, parts: Iterable[str], width: int = WIDTH) -> list[str]:
    """``head`` opens a bracket, and whole parts follow on as many lines as it takes."""
    is_deep = len(head) > _DEEPEST
    lines, margin = [head], " " * (4 if is_deep else len(head))
    for index, part in enumerate(parts):
        gap = " " if index else ""
        if len(lines[-1] + gap + part) > width and (index or is_deep):
            lines.append(margin)
            gap = ""
        lines[-1] += gap + part
    return lines


def listed(items: Iterable[str], end: str) -> list[str]:
    """The items of a bracket that ``end`` closes."""
    *first, last = items
    return [*(f"{item}," for item in first), f"{last}{end}"]


def said(value: object) -> str:
    """A value as a program says it; a number that is none, too."""
    if isinstance(value, float) and repr(float(value)) in {"nan", "inf", "-inf"}:
        return f'float("{float(value)!r}")'
    if isinstance(value, tuple):
        if len(value) > _MANY and len({repr(each) for each in value}) == 1:
            return f"{len(value)} * ({value[0]!r},)"
        end = "," if len(value) == 1 else ""
        return f"({', '.join(map(said, value))}{end})"
    if isinstance(value, str) and '"' not in value and "\\" not in value:
        return f'"{value}"'
    return repr(value)


def tokens(head: str, token_ids: Iterable[int], end: str) -> list[str]:
    """A line that has tokens in it, on as many lines as it takes."""
    token_ids = tuple(token_ids)
    line = f"{head}{said(token_ids)}{end}"
    if len(line) <= INDENTED:
        return [line]
    return filled(f"{head}(", listed(map(repr, token_ids), f"){end}"), INDENTED)


def texts(head: str, text: str) -> list[str]:
    """A text in quotes, in as many pieces as it takes."""
    if len(head) + len(said(text)) <= WIDTH:
        return [head + said(text)]
    start = f"{head}("
    pieces = wrap(text, WIDTH - len(start) - 3, drop_whitespace=False)
    first, *others = map(said, pieces)
    lines = [start + first, *(" " * len(start) + each for each in others)]
    return [*lines[:-1], f"{lines[-1]})"]


def commented(text: str) -> list[str]:
    """As a program begins."""
    return wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")


def indented(lines: Iterable[str]) -> list[str]:
    """The same in a block."""
    return ["    " + line for line in lines]


def folded(lines: Sequence[str]) -> list[str]:
    """The same with what is said several times in a row as a loop."""
    for size in range(len(lines) // 2, 0, -1):
        for start in range(len(lines) - 2 * size + 1):
            n_times = _n_times(lines, start, size)
            if n_times * size > size + 1:
                block = indented(lines[start : start + size])
                loop = [f"for _ in range({n_times}):", *block]
                end = start + n_times * size
                return [*lines[:start], *loop, *folded(lines[end:])]
    return list(lines)


def without_idle_session(lines: Sequence[str]) -> list[str]:
    """The same without the first cache and its session, if nobody can tell.

    Nobody uses them, and no step is taken while the session is open.
    """
    own = [line for line in lines if _IDLE.fullmatch(line)]
    others = [line for line in lines if line not in own]
    ends = [n for n, line in enumerate(lines) if line == "session.close()"]
    steps = [n for n, line in enumerate(lines) if ".step(" in line]
    is_seen = any(_FIRST.search(line) for line in others)
    is_borrowed = min(ends, default=len(lines)) > min(steps, default=len(lines))
    return list(lines) if is_seen or is_borrowed else others


def _n_times(lines: Sequence[str], start: int, size: int) -> int:
    """How often the same statements stand there, one after the other; at least once."""
    block, end = lines[start : start + size], start + size
    while lines[end : end + size] == block:
        end += size
    is_whole = not any(
        line.startswith(" ") for line in (block[0], *lines[end : end + 1])
    )
    return (end - start) // size if is_whole and all(block) else 1


def asserted(condition: str, where: str) -> list[str]:
    """An assertion that tells where, what was due, and what came."""
    plain = where.replace("{", "(").replace("}", ")").replace('"', "'")
    ending = "due {due}, came {came}"
    line = f'assert {condition}, f"{plain}: {ending}"'
    if len(line) <= WIDTH:
        return [line]
    line = f'told = f"{plain}: {ending}"'
    if len(line) <= WIDTH:
        return [line, f"assert {condition}, told"]
    line = f'assert {condition}, f"{{where}}: {ending}"'
    return [*texts("where = ", plain), line]


def imports(body: Sequence[str]) -> Iterator[str]:
    """What these lines need, and nothing else."""
    names = [
        node
        for node in ast.walk(ast.parse("\n".join(body)))
        if isinstance(node, ast.Name)
    ]
    made = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    used = {each.id for each in names} - made
    lines = [_STANDARD[name] for name in used & _STANDARD.keys()]
    yield from sorted(lines, key=lambda line: ("numpy" in line, line[0] != "i", line))
    engines = sorted(used & {*engine.__all__})
    line = f"from engine import {', '.join(engines)}"
    is_short = len(line) <= WIDTH
    yield from (
        [line] if is_short else filled("from engine import (", listed(engines, ")"))
    )
