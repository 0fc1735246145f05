"""A machine without one of its rules fails the floors of what that rule alone reaches.

Only the model answers here: what is reached does not depend on arithmetic.
"""

from typing import Final

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from properties.enumeration import MACHINE_FLOORS
from properties.floors import Cell, Census, FloorsMissed, Outcome, Struck, require
from properties.geometry import configs
from properties.graph import FALLIBLE
from properties.judge import Verdict
from properties.machine import SessionMachine
from properties.plugin import PROFILES
from properties.script import Script
from tests.walks import seen_by_model

SHORT: Final = settings(
    PROFILES["quick"].machine,
    database=None,
    max_examples=60,
    phases=[Phase.generate],
)
OVERFLOWS: Final = {
    Outcome("prefill", "WorkOverflow"),
    Outcome("decode", "WorkOverflow"),
}


SECOND_FAULTS: Final = {Struck(call, again=True) for call in FALLIBLE}


class WithoutWornCounters(SessionMachine):
    refuses_to_overflow_counters = None  # type: ignore[assignment] # the rule is gone


class WithoutFaults(SessionMachine):
    fail = None  # type: ignore[assignment] # the rule is gone
    fail_twice = None  # type: ignore[assignment] # likewise
    fail_from_then_on = None  # type: ignore[assignment] # likewise


def reached_by(machine: type[SessionMachine]) -> Census:
    census = Census()

    def judged(script: Script) -> Verdict:
        verdict = seen_by_model(script)
        census.record(verdict)
        return verdict

    run_state_machine_as_test(
        lambda: machine(judged, configs()),  # type: ignore[arg-type] # takes any maker, as in hunting
        settings=SHORT,
    )
    return census


@pytest.mark.parametrize(
    ("machine", "alone"),
    [(WithoutWornCounters, OVERFLOWS), (WithoutFaults, SECOND_FAULTS)],
)
def test_rule_that_is_removed_is_missed(
    machine: type[SessionMachine], alone: set[Cell]
) -> None:
    with pytest.raises(FloorsMissed) as missed:
        require(reached_by(machine), MACHINE_FLOORS)
    unreached = {line.cell for line in missed.value.lines if not line.reached}

    assert unreached >= alone
