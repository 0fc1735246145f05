"""Shrinking a script that fails: to one of which nothing can go or get less."""

import math
from collections.abc import Callable, Iterable
from typing import Final

from properties.fewer import without_calls
from properties.judge import Judge, PropertyFailed
from properties.script import Script, to_json
from properties.smaller import n_rows, passes, smaller

_MOST_ROWS: Final = 10_000
"""Calls and tokens that are judged for one failure, at most."""


def shrunk(failure: PropertyFailed, new_judge: Callable[[], Judge]) -> PropertyFailed:
    """The failure of the smallest script that was found to break the same law first.

    One judge remembers replays from script to script, and so takes less time. Where
    that hides a failure, or makes one, another judge for each script decides.

    Args:
        failure: of the script to begin with
        new_judge: makes one
    """
    judge = new_judge()
    quick = _shrunk(failure, lambda: judge)
    confirmed = _Trying(failure, new_judge).first([quick.script])
    return _shrunk(confirmed or failure, new_judge)


def is_minimal(failure: PropertyFailed, new_judge: Callable[[], Judge]) -> bool:
    """Whether no smaller script that would be tried breaks the same law first."""
    return _Trying(failure, new_judge).first(smaller(failure.script)) is None


def _shrunk(failure: PropertyFailed, new_judge: Callable[[], Judge]) -> PropertyFailed:
    """Until no pass finds anything.

    In each the first smaller script that fails as well takes the place of the one
    before. As it is smaller, this ends, whatever an engine does; of one that fails at
    random comes a script that has failed.
    """
    trying = _Trying(failure, new_judge, _MOST_ROWS)
    best, before = trying.ended(failure), None
    while before is not best:
        before = best
        for each in passes(best.script):
            while found := trying.first(each(best.script)):
                best = trying.ended(found)
    return best


class _Trying:
    """Tries smaller scripts, each once, and so many."""

    def __init__(
        self,
        failure: PropertyFailed,
        new_judge: Callable[[], Judge],
        most_rows: float = math.inf,
    ) -> None:
        self._law, self._new_judge = failure.law.id, new_judge
        self._tried = {to_json(failure.script)}
        self._rows_left = most_rows

    def first(self, scripts: Iterable[Script]) -> PropertyFailed | None:
        """The first of some scripts that breaks the same law."""
        found = (self._failure_of(script) for script in scripts if self._is_new(script))
        same = (each for each in found if each and each.law.id == self._law)
        return next(same, None)

    def ended(self, failure: PropertyFailed) -> PropertyFailed:
        """The same failure without the calls that came after it, if they may go."""
        script = failure.script
        unmade = range(len(failure.seen) + 1, len(script.calls))
        return self.first([without_calls(script, unmade)]) or failure

    def _is_new(self, script: Script) -> bool:
        text = to_json(script)  # in which 1 is not True, nor 0 minus 0
        is_new = text not in self._tried
        self._tried.add(text)
        return is_new and self._rows_left > 0

    def _failure_of(self, script: Script) -> PropertyFailed | None:
        __tracebackhide__ = True
        self._rows_left -= n_rows(script)
        try:
            self._new_judge()(script)
        except PropertyFailed as failure:
            return failure
        except Exception:  # noqa: BLE001 # rejected, or any engine
            return None
        return None
