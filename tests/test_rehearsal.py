"""What the model alone knows of a script before it is run."""

from collections.abc import Sequence
from contextlib import suppress

import pytest

from engine import EngineError
from properties.calls import (
    Bind,
    Call,
    Close,
    Copy,
    Decode,
    NewCache,
    NewDecoder,
    Prefill,
    Reset,
    Step,
)
from properties.drawn import initial_weights
from properties.model import Model
from properties.rehearsal import Planned, Rehearsal, closing_calls, rehearse
from tests.judged import GROWS, script_of

CLOSING = (4, 0)


def rehearsal_of(*calls: Call) -> Rehearsal:
    script = script_of(*calls)
    return rehearse(script, initial_weights(script.config, script.weights))


def plan_of(*calls: Call) -> list[Planned]:
    return rehearsal_of(*calls).calls


def ahead_of(calls: Sequence[Call]) -> list[tuple[int, ...]]:
    return [each.ahead for each in plan_of(*calls)]


def test_ahead_is_the_longest_history_before_a_reset() -> None:
    again = (Reset(), Prefill(prompt=(3,)))

    assert ahead_of((*GROWS, *again)) == [
        (0, 1, 2),
        (0, 1, 2),
        (3, *CLOSING),
        (3, *CLOSING),
    ]


def test_ahead_ends_with_a_reset_though_the_same_tokens_follow() -> None:
    calls = (Prefill(prompt=(0,)), Reset(), Prefill(prompt=(0, 1)))

    assert ahead_of(calls) == [(0,), (0, 1, 4, 0), (0, 1, 4, 0)]


def test_ahead_goes_on_over_refusals_and_refused_resets() -> None:
    calls = (GROWS[0], Close(), Reset(), Bind(), Decode(token_id=9), GROWS[1])

    assert ahead_of(calls) == 6 * [(0, 1, 2, 4)]


def test_ahead_is_that_of_the_cache_in_focus() -> None:
    calls = (GROWS[0], Copy(), Bind(cache=1), Decode(cache=1, token_id=3))

    assert ahead_of(calls) == [
        *((0, 1, *CLOSING), (0, 1, *CLOSING)),
        *((0, 1, 3, 4), (0, 1, 3, 4)),
    ]


def test_focus_stays_where_it_was_if_no_cache_is_named() -> None:
    calls = (Step(), Copy(), Bind(cache=1), Step(), NewDecoder(), Close(), Step())

    assert [each.cache for each in plan_of(*calls)] == [0, 0, 1, 1, 1, 0, 0]


def test_refused_calls_are_known() -> None:
    calls = (Decode(token_id=0), *GROWS, Prefill(prompt=(0,)), Decode(token_id=True))

    assert [each.is_refused for each in plan_of(*calls)] == [
        *(True, False, False, True, True)
    ]


@pytest.mark.parametrize(
    ("then", "is_followed"),
    [
        (Decode(token_id=2), True),
        (Decode(token_id=9), False),
        (Prefill(prompt=(0,)), False),
        (Reset(), False),
        (Close(), False),
    ],
)
def test_followed_is_what_gives_logits_next(then: Call, *, is_followed: bool) -> None:
    assert plan_of(GROWS[0], then)[0].is_followed == is_followed


def test_followed_is_by_a_call_on_the_same_cache() -> None:
    plan = plan_of(GROWS[0], Copy(), Bind(cache=1), Decode(cache=1, token_id=3))

    assert [each.is_followed for each in plan] == [False, True, True, True]


def test_plan_is_of_the_scripts_own_calls() -> None:
    plan = plan_of(*GROWS)

    assert [each.call for each in plan] == [*GROWS]
    assert [each.is_closing for each in plan] == [False, False]


def test_ahead_at_the_end_is_what_closing_calls_leave() -> None:
    calls = (*GROWS, NewCache(), Close(), Step(), NewCache())

    assert rehearsal_of(*calls).ahead == {0: (0, 1, 2), 1: (), 2: (0, *CLOSING)}


def closing_of(*calls: Call, cache: int) -> list[Call]:
    """The closing calls, each made before the next is asked for."""
    script = script_of(*calls)
    model = Model(script.config, initial_weights(script.config, script.weights))
    for call in calls:
        model.perform(call)
    made = list[Call]()
    for call in closing_calls(model, cache):
        made.append(call)
        with suppress(EngineError):
            model.perform(call)
    return made


def test_open_cache_is_closed_by_two_decodes() -> None:
    assert closing_of(*GROWS, cache=0) == [Decode(token_id=4), Decode(token_id=0)]


def test_stale_cache_is_closed_by_a_bind() -> None:
    assert closing_of(*GROWS, Close(), Step(), cache=0) == [Bind()]


def test_cache_is_closed_on_its_own_decoder() -> None:
    made = closing_of(NewDecoder(rebuilt=(0,)), NewCache(decoder=1), cache=1)

    assert made == [
        Bind(cache=1, decoder=1),
        Prefill(cache=1, prompt=(0,)),
        Decode(cache=1, token_id=4),
        Decode(cache=1, token_id=0),
    ]
