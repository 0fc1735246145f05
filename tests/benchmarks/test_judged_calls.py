"""How many calls the suite judges in a second, and what that time goes into."""

from collections import defaultdict
from collections.abc import Callable
from time import process_time
from typing import Final, ParamSpec, TypeVar

import pytest
from hypothesis import settings, strategies as st

from properties import choices, model, replayed
from properties.alphabets import GEOMETRIES
from properties.built_in import BuiltIn
from properties.chapter import CONFIG
from properties.enumeration import enumerate_all
from properties.hunting import hunt
from properties.judge import Judge, Verdict
from properties.model import Model
from properties.plugin import PROFILES

P = ParamSpec("P")
R = TypeVar("R")

MAKING: Final = "Hypothesis and making"
N_SCRIPTS: Final = 150
DEPTH: Final = 3
ENGINE: Final = (
    *("__init__", "perform", "observe", "rows", "storage", "foul"),
    *("decode_on_copy", "weights", "moments"),
)


class Stopwatch:
    """Processor time by label; time inside an inner label is not the outer one's."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._labels = [MAKING]
        self._since = process_time()

    def timed(self, label: str, call: Callable[P, R]) -> Callable[P, R]:
        def timed(*args: P.args, **kwargs: P.kwargs) -> R:
            self._turn_to(label)
            try:
                return call(*args, **kwargs)
            finally:
                self._turn_back()

        return timed

    def stop(self) -> None:
        self._turn_to("")

    def _turn_to(self, label: str) -> None:
        now = process_time()
        self.seconds[self._labels[-1]] += now - self._since
        self._labels.append(label)
        self._since = now

    def _turn_back(self) -> None:
        now = process_time()
        self.seconds[self._labels.pop()] += now - self._since
        self._since = now


@pytest.fixture
def stopwatch(monkeypatch: pytest.MonkeyPatch) -> Stopwatch:
    """Runs from now on, and tells apart engine, reference and checks."""
    watch = Stopwatch()
    for name in ENGINE:
        timed = watch.timed("engine", getattr(BuiltIn, name))
        monkeypatch.setattr(BuiltIn, name, timed)
    for label, owner, name in (
        ("reference", Model, "__init__"),
        ("reference", Model, "perform"),
        ("reference", replayed, "replay"),
        ("reference", choices, "generate_by_reading"),
        ("bounds", replayed, "bounds"),
        ("bounds", model, "step_bounds"),
    ):
        timed = watch.timed(label, getattr(owner, name))
        monkeypatch.setattr(owner, name, timed)
    monkeypatch.setattr(Judge, "__call__", watch.timed("checks", Judge.__call__))
    return watch


def machine(n_scripts: int) -> int:
    """Hunt on the chapter's geometry; the number of calls."""
    verdicts = list[Verdict]()
    length = settings(
        PROFILES["default"].machine, database=None, max_examples=n_scripts
    )
    hunt(Judge, verdicts.append, length, st.just(CONFIG))
    return sum(len(verdict.seen) for verdict in verdicts)


def enumeration(depth: int) -> int:
    """Enumerate on the same geometry; the number of calls."""
    return enumerate_all(Judge(), depth, GEOMETRIES[:1]).n_calls


@pytest.mark.parametrize(
    ("make", "size"),
    [(machine, N_SCRIPTS), (enumeration, DEPTH)],
    ids=["machine", "enumeration"],
)
def test_judged_calls(
    make: Callable[[int], int], size: int, request: pytest.FixtureRequest
) -> None:
    began = process_time()
    n_calls = make(size)
    seconds = process_time() - began
    watch: Stopwatch = request.getfixturevalue("stopwatch")
    make(size)
    watch.stop()

    total = sum(watch.seconds.values())
    print(f"\n{make.__name__}: {n_calls} calls, {n_calls / seconds:.0f} a second")
    for label, spent in sorted(watch.seconds.items(), key=lambda each: -each[1]):
        print(f"  {label}: {spent / total:.0%}")
    assert set(watch.seconds) == {"engine", "reference", "bounds", "checks", MAKING}
