"""A faulty turn names calls that exist, and fails them as it says."""

from collections.abc import Sequence
from typing import Final

import pytest

from engine import EngineError
from properties import faulty_turns as faulty
from properties.faulty_turns import Attempt, FaultyTurn
from properties.model import Model
from properties.plan import in_force, make_on
from properties.script import FAULTS
from tests.test_turns import WALKS, walked

SURE: Final = [faulty.once, faulty.twice, faulty.from_then_on]


def fates(model: Model, attempt: Attempt) -> Sequence[str]:
    """Of each call, as far as the model knows."""
    return [fate_of(model, attempt, index) for index, _ in enumerate(attempt.calls)]


def fate_of(model: Model, attempt: Attempt, index: int) -> str:
    fault = in_force(attempt.faults, index)
    try:
        return "struck" if make_on(model, attempt.calls[index], fault) else "done"
    except (EngineError, TypeError):
        return "refused"


@pytest.mark.parametrize("turn", [*SURE, faulty.to_the_end])
def test_faults_are_planned_in_the_order_of_their_calls(turn: FaultyTurn) -> None:
    for seed in WALKS:
        calls, faults = turn(*walked(seed))
        struck = [fault.call for fault in faults]

        assert struck == sorted(set(struck))
        assert struck[-1] < len(calls)


@pytest.mark.parametrize("turn", [faulty.once, faulty.twice])
def test_call_that_fails_is_made_again_until_it_is_done(turn: FaultyTurn) -> None:
    for seed in WALKS:
        rng, model = walked(seed)
        attempt = turn(rng, model)

        start = attempt.faults[0].call
        met = fates(model, attempt)[start:]

        assert len(set(attempt.calls[start:])) == 1
        assert "refused" not in met[: met.index("done") + 1]


@pytest.mark.parametrize("turn", SURE)
def test_most_faults_strike(turn: FaultyTurn) -> None:
    met = list[str]()
    for seed in WALKS:
        rng, model = walked(seed)
        attempt = turn(rng, model)
        met.append(fates(model, attempt)[attempt.faults[0].call])

    assert met.count("struck") > len(WALKS) / 2


def test_what_persists_strikes_every_call_that_can_fail() -> None:
    attempts = [faulty.from_then_on(*walked(seed)) for seed in WALKS]

    assert {attempt.faults[0].persists for attempt in attempts} == {True}
    assert {attempt.faults[-1].persists for attempt in attempts} == {False}
    assert {attempt.calls[-2] == attempt.calls[-1] for attempt in attempts} == {True}


def test_every_fault_is_drawn_and_some_are_beyond_the_end() -> None:
    faults = [
        fault
        for seed in range(300)
        for fault in faulty.once_or_to_the_end(*walked(seed)).faults
    ]

    assert {fault.raises for fault in faults} == {*FAULTS}
    assert {fault.persists for fault in faults} == {True, False}
