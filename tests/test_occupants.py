"""Who is inside is known at every moment, and nobody stays in for ever."""

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from traceback import walk_tb

import pytest

from engine import SessionBusy
from engine.occupants import Occupants, run_inside
from tests.puppets import Puppet


def counted(place: Occupants) -> int:
    """Itself among them."""
    return run_inside((place,), place.count)


def test_call_is_inside_while_it_runs() -> None:
    one, other = Occupants(), Occupants()

    def count_both() -> tuple[int, int]:
        return one.count(), other.count()

    assert run_inside((one, other), count_both) == (1, 1)
    assert count_both() == (0, 0)


def test_arguments_and_results_pass() -> None:
    def divided(numerator: int, *, by: int) -> int:
        return numerator // by

    assert run_inside((Occupants(),), divided, 7, by=2) == 3


def test_calls_inside_each_other_are_counted_and_refused() -> None:
    place = Occupants()

    assert run_inside((place,), counted, place) == 2
    with pytest.raises(SessionBusy):
        run_inside((place,), run_inside, (place,), place.refuse_company)
    assert place.count() == 0


def test_call_alone_is_not_refused() -> None:
    place = Occupants()

    run_inside((place,), place.refuse_company)

    assert place == set()


@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt])
def test_call_that_raises_leaves(error: type[BaseException]) -> None:
    place = Occupants()

    def fail() -> None:
        raise error

    with pytest.raises(error):
        run_inside((place,), fail)

    assert place == set()


def test_dead_frame_is_dropped_though_a_traceback_keeps_it() -> None:
    place = Occupants()

    def fail() -> None:
        raise LookupError

    try:
        run_inside((place,), fail)
    except LookupError as error:
        *_, (kept, _), _ = walk_tb(error.__traceback__)
        place.add(kept)
        assert len(place) == 1
        assert counted(place) == 1
        assert run_inside((place,), lambda: None) is None
        run_inside((place,), place.refuse_company)

    assert place.count() == 0


@pytest.mark.usefixtures("traced_bytecodes")
def test_call_of_another_thread_is_inside_until_it_returns() -> None:
    place = Occupants()

    other = Puppet(lambda: run_inside((place,), lambda: sum(range(9))))
    counts = []
    for boundary in range(1, 100):
        other.run_to(boundary)
        counts.append(place.count())
    other.finish()

    assert set(counts) == {0, 1}
    assert sum(abs(b - a) for a, b in pairwise(counts)) == 2
    assert place.count() == 0


def test_place_may_be_entered_again_after_a_refusal() -> None:
    place = Occupants()

    def refused(call: Callable[[], object]) -> None:
        with suppress(SessionBusy):
            run_inside((place,), call)

    run_inside((place,), refused, place.refuse_company)
    run_inside((place,), place.refuse_company)

    assert place == set()
