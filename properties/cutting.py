"""Cutting a script that fails down to what it needs to fail."""

from collections.abc import Callable, Iterator

from properties.judge import Judge, PropertyFailed
from properties.plan import moved
from properties.script import Script, ScriptRejected


def cut(failure: PropertyFailed, new_judge: Callable[[], Judge]) -> PropertyFailed:
    """The failure of the shortest script that was found to break the same law.

    Runs of calls are left out, long ones first, until no single call can go; their
    faults go with them. Then faults are left out, one by one.
    """
    best, size = failure, len(failure.script.calls)
    while size:
        smaller = _first(best, _without_runs(best.script, size), new_judge)
        if smaller is None:
            size //= 2
        else:
            best, size = smaller, min(size, len(smaller.script.calls))
    while smaller := _first(best, _without_faults(best.script), new_judge):
        best = smaller
    return best


def _without_runs(script: Script, size: int) -> Iterator[Script]:
    """The script without each run of so many calls; from the end on."""
    for start in range(len(script.calls) - size, -1, -1):
        end = start + size
        calls = script.calls[:start] + script.calls[end:]
        before = [fault for fault in script.faults if fault.call < start]
        after = [moved(fault, -size) for fault in script.faults if fault.call >= end]
        yield script.model_copy(update={"calls": calls, "faults": (*before, *after)})


def _without_faults(script: Script) -> Iterator[Script]:
    """The script without each of its faults."""
    for fault in script.faults:
        faults = tuple(each for each in script.faults if each is not fault)
        yield script.model_copy(update={"faults": faults})


def _first(
    failure: PropertyFailed,
    scripts: Iterator[Script],
    new_judge: Callable[[], Judge],
) -> PropertyFailed | None:
    """The first of some scripts that breaks the same law."""
    found = (_failure_of(script, new_judge) for script in scripts)
    same = (each for each in found if each is not None and each.law == failure.law)
    return next(same, None)


def _failure_of(
    script: Script, new_judge: Callable[[], Judge]
) -> PropertyFailed | None:
    __tracebackhide__ = True
    try:
        new_judge()(script)
    except PropertyFailed as failure:
        return failure
    except ScriptRejected:
        return None  # it names what was left out
    return None
