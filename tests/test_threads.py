"""The hunts with threads find engines that threads can tear."""

import sys
from collections.abc import Callable
from dataclasses import fields
from secrets import randbelow
from threading import current_thread, main_thread
from time import sleep
from types import ModuleType
from typing import Final, TypeAlias, TypeVar

import pytest

import engine.optimizer
from engine import DecoderSession, SessionBusy
from engine.occupants import Occupants
from engine.prefix import Prefix, State
from properties.inconsistency import Inconsistent
from properties.threads import (
    hunt_threads,
    one_cache,
    one_decoder,
    one_session,
    threads_table,
)
from properties.threads.calling_back import hunt_calls_back
from properties.threads.one_cache import hunt_binds_of_one_cache, hunt_copies
from properties.threads.one_decoder import hunt_on_one_decoder
from properties.threads.one_session import hunt_in_one_session
from properties.threads.together import run_together

T = TypeVar("T")
Hunt: TypeAlias = Callable[[int], object]

N_ROUNDS: Final = 200
PLACES: Final = 10
"""One of so many places is called back from; each call has several times as many."""


def call_back(_: int) -> object:
    return hunt_calls_back(PLACES)


class Nobody:
    """Is gone as soon as nobody looks at it."""


def lets_all_in(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Occupants, "refuse_company", lambda _: None)


def steps_under_readers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine.optimizer, "_is_borrowed", lambda *_: False)


def borrows_nothing(patch: pytest.MonkeyPatch) -> None:
    """All that is borrowed refers to what is gone at once."""
    patch.setattr(DecoderSession, "_borrower", property(lambda _: Nobody()))


def copies_what_comes(patch: pytest.MonkeyPatch) -> None:
    def at_some_moment(prefix: Prefix, read: Callable[[], T]) -> tuple[State, T]:
        state = prefix.state
        sleep(1e-3)
        return state, read()

    patch.setattr(Prefix, "at_one_moment", at_some_moment)


@pytest.mark.parametrize(
    ("hunt", "breaks", "complaint"),
    [
        (hunt_in_one_session, lets_all_in, "no order of these calls"),
        (hunt_on_one_decoder, steps_under_readers, "a step was taken"),
        (hunt_on_one_decoder, borrows_nothing, "a step was taken"),
        (hunt_binds_of_one_cache, borrows_nothing, "two sessions are open"),
        (hunt_copies, copies_what_comes, "was never like its copy"),
        (call_back, lets_all_in, "that was called from"),
        (call_back, steps_under_readers, "the weights"),
        (call_back, borrows_nothing, "the weights"),
    ],
)
def test_hunt_finds(
    hunt: Hunt,
    breaks: Callable[[pytest.MonkeyPatch], None],
    complaint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breaks(monkeypatch)

    with pytest.raises(Inconsistent, match=complaint):
        hunt(N_ROUNDS)


@pytest.mark.parametrize(
    ("hunt", "module"),
    [
        (hunt_in_one_session, one_session),
        (hunt_on_one_decoder, one_decoder),
        (hunt_binds_of_one_cache, one_cache),
        (hunt_copies, one_cache),
    ],
    ids=["in one session", "on one decoder", "binds", "copies"],
)
def test_threads_that_do_not_meet_are_not_enough(
    hunt: Hunt, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_one_by_one(*calls: Callable[[], object]) -> None:
        for call in calls:
            call()

    monkeypatch.setattr(module, "run_together", run_one_by_one)
    monkeypatch.setattr(module, "MOST", 2)

    with pytest.raises(Inconsistent, match=r"too seldom|only \d states"):
        hunt(1)


def test_company_that_nobody_had_is_no_reason_for_a_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse = Occupants.refuse_company

    def refuse_often(place: Occupants) -> None:
        refuse(place)
        if current_thread() is not main_thread() and not randbelow(9):
            raise SessionBusy

    monkeypatch.setattr(Occupants, "refuse_company", refuse_often)

    with pytest.raises(Inconsistent, match=r"it had not: \d+ to \d+, .*: SessionBusy"):
        hunt_in_one_session(N_ROUNDS)


def test_what_a_thread_raises_comes_out() -> None:
    before = sys.getswitchinterval()
    done: list[int] = []

    def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        run_together(fail, lambda: done.append(1))

    assert done == [1]
    assert sys.getswitchinterval() == before


def test_figures_are_shown() -> None:
    threaded = hunt_threads(n_rounds=1, stride=PLACES)
    figures = {field.name: getattr(threaded, field.name) for field in fields(threaded)}
    table = threads_table(threaded)
    names, times = (list(column.cells) for column in table.columns)

    assert names == [name.replace("_", " ") for name in figures if name != "seconds"]
    assert times == [f"{figure:,}" for figure in list(figures.values())[:-1]]
    assert table.title == f"threads, in {threaded.seconds:.1f} s"
    assert min(figures["overlaps"], figures["copies"], figures["called_back"]) > 0
