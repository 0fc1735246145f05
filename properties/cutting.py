"""Cutting a script that fails down to the calls without which it would not."""

from collections.abc import Callable, Iterator

from properties.calls import Call
from properties.judge import Judge, PropertyFailed
from properties.script import Script, ScriptRejected


def cut(failure: PropertyFailed, new_judge: Callable[[], Judge]) -> PropertyFailed:
    """The failure of the shortest script that was found to break the same law.

    Runs of calls are left out, long ones first, until no single call can go.
    """
    best, size = failure, len(failure.script.calls)
    while size:
        smaller = next(_smaller(best, size, new_judge), None)
        if smaller is None:
            size //= 2
        else:
            best, size = smaller, min(size, len(smaller.script.calls))
    return best


def _smaller(
    failure: PropertyFailed, size: int, new_judge: Callable[[], Judge]
) -> Iterator[PropertyFailed]:
    """Failures of the same law without a run of calls; from the end on."""
    calls = failure.script.calls
    for start in range(len(calls) - size, -1, -1):
        found = _failure_of(
            failure.script, calls[:start] + calls[start + size :], new_judge
        )
        if found is not None and found.law == failure.law:
            yield found


def _failure_of(
    script: Script, calls: tuple[Call, ...], new_judge: Callable[[], Judge]
) -> PropertyFailed | None:
    __tracebackhide__ = True
    try:
        new_judge()(script.model_copy(update={"calls": calls}))
    except PropertyFailed as failure:
        return failure
    except ScriptRejected:
        return None  # it names what was left out
    return None
