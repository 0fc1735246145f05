"""Every mutant is rejected by its killer, for its witness, which the engine passes."""

import sys
from collections import Counter
from functools import cache

import pytest

import engine.errors as engine_errors
from engine import EngineError
from properties.anew import SHARED
from properties.judge import Judge, PropertyFailed
from properties.laws import LAWS
from properties.mutants import OWN, Line, MutantRejected, mutants
from tests.house_rules import MAY_IMPORT

ALL = {each.name: each for each in mutants()}
KILLED = [name for name, each in ALL.items() if each.killer]
JUDGED = [name for name in KILLED if not ALL[name].scene]
SWEPT = [name for name in KILLED if ALL[name].scene]
EQUIVALENT = [name for name in ALL if name not in KILLED]
SWEEP = "A3"
RIGHT = Judge()

FAMILIES = {
    *("EngineError", "BindingError", "RequestError", "OptimizerError"),
    "ConstructionError",
}


@cache
def failure_of(name: str) -> PropertyFailed | None:
    mutant = ALL[name]
    try:
        Judge(mutant.make())(mutant.witness)
    except PropertyFailed as failure:
        return failure
    return None


def broken_by(name: str) -> list[str]:
    failure = failure_of(name)
    return [] if failure is None else [law.id for law in failure.broken]


def errors_in(name: str) -> set[str]:
    """What was raised or due in the run of a witness on its mutant."""
    failure = failure_of(name)
    if failure is None:
        return set()
    moment = failure.moment
    met = {type(moment.due).__name__, type(moment.came).__name__}
    causes = {
        type(each.__cause__).__name__
        for each in (moment.due, moment.came)
        if isinstance(each, BaseException)
    }
    return met | causes | {each.outcome for each in failure.seen}


@pytest.mark.parametrize("name", JUDGED)
def test_judge_rejects(name: str) -> None:
    RIGHT(ALL[name].witness)

    assert ALL[name].killer in broken_by(name)


@pytest.mark.parametrize("name", SWEPT)
def test_sweep_rejects(name: str) -> None:
    """The stride is less than the number of boundaries at which it shows."""
    assert ALL[name].sweep().startswith(f"{SWEEP} ")


@pytest.mark.parametrize("name", EQUIVALENT)
def test_equivalent_passes(name: str) -> None:
    mutant = ALL[name]

    assert Judge(mutant.make())(mutant.witness) == RIGHT(mutant.witness)


def test_there_are_as_many_as_there_must_be() -> None:
    reports = Counter(ALL[name].report for name in KILLED)
    own = reports.pop(OWN)

    assert len(KILLED) >= 150
    assert len(KILLED) - own >= 60
    assert max(reports.values()) <= 2


def test_none_is_there_twice() -> None:
    lines = Counter((each.module, each.line, each.replacement) for each in ALL.values())

    assert [line for line, n_times in lines.items() if n_times > 1] == []


def test_every_property_has_to_kill_three() -> None:
    counts = Counter(ALL[name].killer for name in KILLED)

    assert counts.keys() == {*LAWS, SWEEP}
    assert min(counts.values()) >= 3


def test_every_property_kills_one_alone_or_says_why_not() -> None:
    alone = {broken_by(name)[0] for name in JUDGED if len(broken_by(name)) == 1}

    assert alone == {law.id for law in LAWS.values() if not law.redundant}


def test_every_error_is_due_or_comes() -> None:
    classes = {
        name
        for name, each in vars(engine_errors).items()
        if isinstance(each, type) and issubclass(each, EngineError)
    }
    met = set().union(*(errors_in(name) for name in JUDGED))

    assert classes - FAMILIES - met == set()


def test_nothing_of_a_mutant_stays() -> None:
    before = dict(sys.modules)
    Judge(ALL[JUDGED[0]].make())

    assert sys.modules == before


def test_line_that_is_not_there_once_is_refused() -> None:
    for line, n_times in (("length = 7", 0), ("yield normed", 3)):
        with pytest.raises(MutantRejected, match=f"has {n_times} lines"):
            Line(module="engine.row", line=line, replacement="pass").text()


def test_engine_shares_with_the_judge_what_the_reference_may_read() -> None:
    _, *read = MAY_IMPORT["reference"]

    assert {f"engine.{name}" for name in SHARED} == {*read}
