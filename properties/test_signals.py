"""Real signals and kills leave nothing in between."""

from properties.kills import hunt_kills
from properties.plugin import length_of_hunt
from properties.signals import hunt_signals


def test_signals_leave_the_state_before_a_call_or_after_it() -> None:
    n_signals = length_of_hunt().n_signals

    signalled = hunt_signals(n_signals)

    assert signalled.inside >= n_signals


def test_kills_leave_the_old_file_or_the_new() -> None:
    n_kills = length_of_hunt().n_kills

    killed = hunt_kills(n_kills)

    assert killed.inside >= n_kills
