"""Comparisons of what a call came to: answered, refused, or ended by a fault."""

from collections.abc import Mapping
from typing import Final

from engine import EngineError, StageFailed, ZeroEnergyRow
from properties.injector import Injected
from properties.program.lines import indented, said, texts
from properties.program.numbers import Compared
from properties.program.snapshots import Path
from properties.program.told import Told
from properties.program.values import ERROR


def _outcome(told: Told, _path: Path) -> None:
    """The call, and what is raised or answered, as text."""
    moment, draft = told.moment, told.draft
    due, shown = _due(moment.due)
    told.begin()
    if moment.due is None:
        draft.add(f"due = came = {said(due)}")
    else:
        draft.add(*texts("due = ", due), 'came = "an answer"')
    told.know_due()
    draft.arm(moment.call, is_closing=told.failure.is_closing)
    lines = draft.calls.of(moment.call)
    raised = [
        each for each in (moment.due, moment.came) if isinstance(each, BaseException)
    ]
    is_error = all(isinstance(each, Exception) for each in raised)
    caught = "Exception" if is_error else "BaseException"
    draft.add("try:", *indented(lines))
    draft.add(f"except {caught} as error:", f"    came = {shown}")
    told.check()


def _due(due: BaseException | None) -> tuple[str, str]:
    """What is due as text, and how a program makes the same of what is raised.

    A ``reason`` says in prose what other fields cannot, and is not compared.
    """
    if due is None:
        return "an answer", "repr(error)"
    if not isinstance(due, EngineError):
        return type(due).__name__, "type(error).__name__"
    cause = due.__cause__
    if isinstance(due, StageFailed) and isinstance(cause, ZeroEnergyRow):
        return f"{due!r} from {cause!r}", 'f"{error!r} from {error.__cause__!r}"'
    if isinstance(due, StageFailed):
        name = "Exception" if isinstance(cause, Injected) else type(cause).__name__
        shown = 'f"{error!r} from {type(error.__cause__).__name__}"'
        return f"{due!r} from {name}", shown
    if "reason" in getattr(due, "__match_args__", ()):
        start, _, _ = repr(due).partition(", reason=")
        return start, 'repr(error).partition(", reason=")[0]'
    return repr(due), "repr(error)"


def _point(told: Told, _path: Path) -> None:
    """Where the probe is told that it is."""
    struck = told.moment.struck
    assert struck is not None
    told.draft.tells = True
    told.begin()
    told.draft.add("struck = []")
    told.call()
    told.due(said((str(struck.stage), struck.layer, struck.position)))
    told.check("struck and struck[-1]")


def _raised(told: Told, _path: Path) -> None:
    """What the probe raised, or what came of it."""
    told.draft.error = ERROR
    told.begin()
    told.draft.arm(told.moment.call, is_closing=told.failure.is_closing)
    lines = told.draft.calls.of(told.moment.call)
    told.due(ERROR)
    told.draft.add("try:", *indented(lines))
    told.draft.add("except BaseException as raised:", "    came = raised")
    told.check(condition="due in (came, came.__cause__)")


OUTCOMES: Final[Mapping[str, Compared]] = {
    "outcome": _outcome,
    "point": _point,
    "raised": _raised,
}
"""By the first word of a difference's place."""
