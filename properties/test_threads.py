"""Threads are refused, or get what they would get alone."""

from typing import Final

from properties.plugin import length_of_hunt
from properties.threads.calling_back import hunt_calls_back
from properties.threads.one_cache import hunt_binds_of_one_cache, hunt_copies
from properties.threads.one_decoder import hunt_on_one_decoder
from properties.threads.one_session import hunt_in_one_session

BOUNDARIES_A_PLACE: Final = 4
"""A place at which a probe is called is that much rarer than a bytecode boundary."""


def test_threads_in_one_session_are_refused_or_as_if_alone() -> None:
    assert hunt_in_one_session(length_of_hunt().n_rounds)["overlaps"] > 0


def test_steps_change_no_weight_under_an_open_session() -> None:
    counts = hunt_on_one_decoder(length_of_hunt().n_rounds)

    assert min(counts["sessions"], counts["steps_taken"], counts["steps_refused"]) > 0


def test_threads_that_bind_one_cache_never_hold_it_together() -> None:
    assert hunt_binds_of_one_cache(length_of_hunt().n_rounds)["binds_refused"] > 0


def test_copies_are_of_one_moment() -> None:
    n_rounds = length_of_hunt().n_rounds

    assert hunt_copies(n_rounds)["copies"] >= n_rounds


def test_calls_back_are_refused_and_change_nothing() -> None:
    stride = max(1, length_of_hunt().stride // BOUNDARIES_A_PLACE)

    assert hunt_calls_back(stride) > 0
