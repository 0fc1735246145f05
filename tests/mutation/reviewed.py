"""The mutants that may live, each with its reason, and how well the others die."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutation.sessions import Mutant, Outcome, Result

REVIEWED: Final = Path(__file__).with_name("reviewed.toml")


class Kind(StrEnum):
    """Why a mutant may live.

    Attributes:
        EQUIVALENT: it does the same, whatever it is given
        UNREACHABLE: it differs only where no caller can come
        ACCEPTED: it differs, and what it does is as good, or not promised
        ENDLESS: it never ends, so that only the clock can tell
    """

    EQUIVALENT = "equivalent"
    UNREACHABLE = "unreachable"
    ACCEPTED = "accepted"
    ENDLESS = "endless"


class Review(NamedTuple):
    """One reviewed mutant."""

    mutant: Mutant
    kind: Kind
    reason: str


_NO_FAULT: Final = Kind.EQUIVALENT, Kind.UNREACHABLE


def reviews(path: Path = REVIEWED) -> list[Review]:
    """The list, an entry for each mutant."""
    return [
        Review(
            Mutant(each["module"], each["in"], each["line"], mutant),
            Kind(each["kind"]),
            each["reason"],
        )
        for each in tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", ())
        for mutant in each["mutants"]
    ]


class Score(NamedTuple):
    """How the mutants of a module end.

    Attributes:
        excused: not killed, and no fault by their review
    """

    module: str
    n: int
    killed: int
    survived: int
    timed_out: int
    incompetent: int
    excused: int

    @property
    def raw(self) -> float:
        """Killed, of all."""
        return _share(self.killed, self.n)

    @property
    def detected(self) -> float:
        """Killed or not ended in time, of those that are Python."""
        return _share(self.killed + self.timed_out, self.n - self.incompetent)

    @property
    def adjusted(self) -> float:
        """Killed, of those that are Python and wrong: a time-out is no kill."""
        return _share(self.killed, self.n - self.incompetent - self.excused)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def score(module: str, results: Sequence[Result], known: Iterable[Review]) -> Score:
    """Count what became of a module's mutants."""
    counts = Counter(each.outcome for each in results)
    kinds = {each.mutant: each.kind for each in known}
    return Score(
        module=module,
        n=len(results),
        killed=counts[Outcome.KILLED],
        survived=counts[Outcome.SURVIVED],
        timed_out=counts[Outcome.TIMED_OUT],
        incompetent=counts[Outcome.INCOMPETENT],
        excused=sum(
            _is_alive(each) and kinds.get(each.mutant) in _NO_FAULT for each in results
        ),
    )


def total(scores: Sequence[Score], name: str) -> Score:
    """The sum of several."""
    counts = zip(*(each[1:] for each in scores), strict=True)
    return Score(name, *map(sum, counts))


def unexplained(results: Iterable[Result], known: Iterable[Review]) -> list[Result]:
    """What was not killed, and is in no list."""
    listed = {each.mutant for each in known}
    return [each for each in results if _is_alive(each) and each.mutant not in listed]


def rotten(
    module: str, results: Iterable[Result], known: Iterable[Review]
) -> list[Review]:
    """What the list says of a module's mutants that there are not."""
    there = {each.mutant for each in results}
    return [
        each
        for each in known
        if each.mutant.module == module and each.mutant not in there
    ]


def _is_alive(result: Result) -> bool:
    return result.outcome in {Outcome.SURVIVED, Outcome.TIMED_OUT}
