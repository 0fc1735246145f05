"""One interrupt of one call, and what must hold right after it.

The state must be the one before the call or the one after it, and all that is called
next must answer as if nobody had interrupted anything: inside the ``except`` block,
while the exception and its traceback are kept.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import GeneratorType
from typing import NamedTuple

from engine import StageFailed
from properties.difference import unlike
from properties.interrupts.boundaries import Where, interrupt
from properties.interrupts.scene import Scene


class Unlike(Exception):
    """What came is not what was due; the message tells where."""


class Undisturbed(NamedTuple):
    """What a scene gives when nobody interrupts it."""

    before: object
    answer: object
    after: object
    rest: object

    @classmethod
    def of(cls, scene: Scene) -> "Undisturbed":
        """Make the call and those that come next."""
        before = scene.state()
        answer = scene.call()
        due = cls(before, answer, scene.state(), scene.rest())
        scene.end()
        return due


def strike(
    scene: Scene, due: Undisturbed, where: Where, boundary: int, error: BaseException
) -> bool:
    """Interrupt a call once, judge what is left, and tell whether it happened.

    Raises:
        Unlike: the state is neither the one before nor the one after, or a later call
            was disturbed. What such a call raises comes out too.
    """
    answers: list[object] = []
    with _generators_report(error) as reports:
        try:
            interrupt(lambda: answers.append(scene.call()), where, boundary, error)
        except BaseException as raised:
            if not (raised is error or _is_failure(raised, error)):
                raise
            return _goes_on(scene, due)
    if error.__traceback__ is None:
        message = "the call has fewer boundaries than when they were counted"
        raise Unlike(message)
    if not reports and not isinstance(error, Exception):
        message = "it was swallowed"
        raise Unlike(message)
    # Whoever does without the memory that was refused has to give the same answer.
    _require_like("answer, though it was struck", due.answer, answers[0])
    _require_like("state, though it was struck", due.after, scene.state())
    _require_like("answers of the next calls", due.rest, scene.rest())
    return due.after != due.before


def _goes_on(scene: Scene, due: Undisturbed) -> bool:
    """Judge the state; retry what did not happen; then make the next calls."""
    found = scene.state()
    happened = found == due.after != due.before
    if not happened:
        if found != due.before:
            before = unlike("state, if it did not happen", due.before, found)
            after = unlike("state, if it did", due.after, found)
            message = f"{before}\n  {after}"
            raise Unlike(message)
        _require_like("answer of a retry", due.answer, scene.call())
        _require_like("state after a retry", due.after, scene.state())
    _require_like("answers of the next calls", due.rest, scene.rest())
    return happened


def _require_like(where: str, due: object, came: object) -> None:
    if found := unlike(where, due, came):
        raise Unlike(str(found))


def _is_failure(raised: BaseException, error: BaseException) -> bool:
    """Whether a stage failed by the error, as none may by a ``KeyboardInterrupt``."""
    is_failed = isinstance(raised, StageFailed) and raised.__cause__ is error
    return is_failed and isinstance(error, Exception)


@contextmanager
def _generators_report(error: BaseException) -> Iterator[list[object]]:
    """Note if the error can only be reported, for it struck a generator being closed.

    CPython 3.12 executes a few bytecodes of a generator that nobody will ask any more.
    What is raised there goes nowhere, so the call is made to its end.
    """
    reports: list[object] = []
    elsewhere = sys.unraisablehook

    def report(unraisable: "sys.UnraisableHookArgs") -> None:
        is_ours = unraisable.exc_value is error
        if is_ours and isinstance(unraisable.object, GeneratorType):
            reports.append(unraisable.object)
        else:
            elsewhere(unraisable)

    sys.unraisablehook = report
    try:
        yield reports
    finally:
        sys.unraisablehook = elsewhere
