"""``program``: writes a failure down, and tries what is written.

A program uses public names of ``engine``, and neither the hunt nor the reference. It
makes the calls, compares what the broken law compared, and ends in an
``AssertionError`` on the engine that is wrong, and in nothing on one that is right.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from properties.judge import PropertyFailed
from properties.program.draft import Draft
from properties.program.facts import FACTS
from properties.program.lines import (
    WIDTH,
    commented,
    folded,
    imports,
    without_idle_session,
)
from properties.program.numbers import NUMBERS
from properties.program.outcomes import OUTCOMES
from properties.program.told import ProgramRefused, Told

MOST_LINES: Final = 25
_BUILT_IN: Final = "properties.built_in", "BuiltIn"
_PLACES: Final = {**NUMBERS, **FACTS, **OUTCOMES}


class _Wording(NamedTuple):
    """How much is written of what the judge does besides the calls."""

    fouls: bool
    keeps_idle: bool
    is_thorough: bool


WORDINGS: Final = (
    _Wording(fouls=False, keeps_idle=False, is_thorough=False),
    _Wording(fouls=True, keeps_idle=False, is_thorough=False),
    _Wording(fouls=False, keeps_idle=True, is_thorough=False),
    _Wording(fouls=True, keeps_idle=True, is_thorough=False),
    _Wording(fouls=False, keeps_idle=True, is_thorough=True),
    _Wording(fouls=True, keeps_idle=True, is_thorough=True),
)
"""The plainest first: it is enough for most failures."""


def program(failure: PropertyFailed) -> str:
    """At most 25 lines that fail as this failure does, in a process of their own.

    Each wording is tried here on the engine that failed, and the plainest that fails is
    taken. If none does, as an engine may fail once in a process only, it is the most
    thorough.

    Raises:
        ProgramRefused: the engine is none that a program can import, or what is wrong
            is not the engine, or it takes more or longer lines.
    """
    subject = type(failure.moment.subject)
    if (subject.__module__, subject.__name__) != _BUILT_IN:
        message = "the engine is none that a program can import"
        raise ProgramRefused(message)
    written = [_written(failure, wording) for wording in WORDINGS]
    readable = filter(_is_readable, written)
    failing = (lines for lines in readable if _fails(_text(lines), failure))
    chosen = next(failing, written[-1])
    if not _is_readable(chosen):
        raise ProgramRefused(_excess(chosen))
    return _text(chosen)


def _written(failure: PropertyFailed, wording: _Wording) -> list[str]:
    draft, law = Draft(failure.script, fouls=wording.fouls), failure.law
    told = Told(failure, draft, is_thorough=wording.is_thorough)
    kind, *rest = told.found.place or ("",)
    if kind not in _PLACES:
        told.refuse("it is no place of the engine")
    _PLACES[str(kind)](told, rest)
    body = draft.lines if wording.keeps_idle else without_idle_session(draft.lines)
    if probe := draft.probe(scribbles=wording.is_thorough):
        body = [*probe, "", *body]
    lines = [*commented(f"{law.id} {law.name}. {law.says}"), *imports(body), "", *body]
    if len(lines) > MOST_LINES:
        lines = folded(lines)
    return lines if len(lines) <= MOST_LINES else list(filter(None, lines))


def _is_readable(lines: Sequence[str]) -> bool:
    return len(lines) <= MOST_LINES and max(map(len, lines)) <= WIDTH


def _excess(lines: Sequence[str]) -> str:
    width = max(map(len, lines))
    is_wide = width > WIDTH
    return f"it takes {len(lines)} lines{f' of up to {width} columns' * is_wide}"


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _fails(text: str, failure: PropertyFailed) -> bool:
    """Whether it fails here, on the engine that the subject's own module imports."""
    imports_so = vars(type(failure.moment.subject))["perform"].__builtins__
    names = {"__name__": "__main__", "__builtins__": imports_so}
    try:
        exec(text, names)  # noqa: S102 # our own text
    except AssertionError as error:
        return str(error).startswith(f"{failure.law.id} ")
    except (Exception, KeyboardInterrupt):  # noqa: BLE001 # fails in another way
        return False
    return False
