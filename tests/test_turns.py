"""A turn's calls are done or refused, as the turn says."""

from collections.abc import Callable
from random import Random
from typing import Final, TypeAlias

import pytest

from engine import DecoderConfig, EngineError
from properties import refused_turns as refused, turns
from properties.calls import Call, Decode, Prefill
from properties.drawing import when
from properties.drawn import initial_weights
from properties.model import Model
from properties.reachable import (
    closed,
    open_caches,
    open_empty,
    open_filled,
    open_with_room,
    stale,
    two_with_room,
    unbound_fresh,
)
from properties.script import Weights
from properties.turns import Turn

CONFIG: Final = DecoderConfig(
    vocab_size=3,
    d_model=8,
    n_heads=2,
    n_kv_heads=1,
    d_ff=5,
    n_layers=2,
    capacity=5,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)
VALUES: Final = initial_weights(CONFIG, Weights(seed=1))

There: TypeAlias = Callable[[Model], object]
WALKS: Final = range(60)


def walked(seed: int) -> tuple[Random, Model]:
    """A model after calls of every kind."""
    rng, model = Random(seed), Model(CONFIG, VALUES)  # noqa: S311 # chooses calls, keeps nothing secret
    for _ in range(3):
        calls = turns.anything(rng, model, 5)
        for call in (*turns.new_sessions(rng, model), *calls):
            refusal_of(model, call)
    return rng, model


ALLOWED: Final = [
    (open_with_room, turns.decodes),
    (two_with_room, turns.interleaved),
    (open_caches, turns.resets),
    (open_caches, turns.closes),
    (open_caches, turns.generations),
]
ALLOWED_BUT_FOR_A_TOKEN: Final = [
    (open_empty, turns.first_prompts),
    (open_filled, turns.second_sequences),
    (open_filled, turns.rebinds),
    (unbound_fresh, turns.binds),
    (open_with_room, turns.copies),
    (open_caches, turns.new_sessions),
    (open_caches, turns.shares),
]
REFUSED: Final = [
    (open_filled, refused.second_prompts),
    (open_empty, refused.early_decodes),
    (open_filled, refused.strange_decodes),
    (closed, refused.calls_on_closed),
    (open_caches, refused.second_binds),
    (open_caches, refused.strange_binds),
    (stale, refused.stale_binds),
    (open_caches, refused.bad_training),
    (open_caches, refused.steps_during_sessions),
]


@pytest.mark.parametrize(("there_is", "turn"), ALLOWED)
def test_turn_is_allowed(there_is: There, turn: Turn) -> None:
    assert refusals(there_is, turn) == {""}


@pytest.mark.parametrize(("there_is", "turn"), ALLOWED_BUT_FOR_A_TOKEN)
def test_turn_is_allowed_but_for_a_token(there_is: There, turn: Turn) -> None:
    """Which the cache has no room for, or no prompt before."""
    met = refusals(there_is, turn)

    assert "" in met
    older = {"SessionClosed"} if turn in {turns.rebinds, turns.binds} else set()
    assert met <= {"", "CacheFull", "DecodeRequiresPrefill"} | older


@pytest.mark.parametrize(("there_is", "turn"), REFUSED)
def test_turn_is_refused(there_is: There, turn: Turn) -> None:
    assert "" not in refusals(there_is, turn)


@pytest.mark.parametrize(("there_is", "turn"), REFUSED)
def test_turn_is_refused_before_a_token(there_is: There, turn: Turn) -> None:
    """Which is taken: no refusal changes what may come next."""
    for seed in WALKS:
        rng, model = walked(seed)
        if not (there_is(model) and open_with_room(model)):
            continue
        *_, last = refused.before_a_decode(turn)(rng, model)

        assert isinstance(last, Decode)


@pytest.mark.parametrize(
    ("turn", "refusal"),
    [
        (turns.steps_between_sessions, "ParameterRevisionMismatch"),
        (refused.bad_first_prompts, "PromptTooLong"),
        (refused.overflows, "CacheFull"),
        (refused.worn_counters, "WorkOverflow"),
        (refused.flawed_steps, "GradientMismatch"),
    ],
)
def test_turn_meets(turn: Turn, refusal: str) -> None:
    assert refusal in refusals(open_filled, turn)


def test_overflows_come_after_exactly_the_capacity() -> None:
    for seed in WALKS:
        rng, model = walked(seed)
        if open_filled(model):
            *allowed, overflow = refused.overflows(rng, model)
            met = [refusal_of(model, call) for call in (*allowed, overflow)]

            assert met == [*([""] * len(allowed)), "CacheFull"]


def test_second_sequences_are_shorter_and_then_longer() -> None:
    for seed in WALKS:
        rng, model = walked(seed)
        long = [i for i in open_filled(model) if model.caches[i].length > 1]
        if long != open_filled(model) or not long:
            continue
        _, short_prefill, _, long_prefill, _ = turns.second_sequences(rng, model)
        assert isinstance(short_prefill, Prefill)
        assert isinstance(long_prefill, Prefill)
        length = model.caches[short_prefill.cache].length
        short, longer = len(short_prefill.prompt), len(long_prefill.prompt)

        assert short < min(length, longer)


def test_sessions_decode_in_turn() -> None:
    for seed in WALKS:
        rng, model = walked(seed)
        if two_with_room(model):
            calls = turns.interleaved(rng, model)
            caches = [call.cache for call in calls if isinstance(call, Decode)]

            assert len(set(caches)) == 2
            assert caches[0::2] + caches[1::2] == sorted(caches, key=caches.index)


def test_step_on_a_subset_holds_later_ones_to_it() -> None:
    model = Model(CONFIG, VALUES)
    close, subset, train, *_ = turns.steps_on_a_subset(Random(1), model)  # noqa: S311 # chooses calls, keeps nothing secret
    met = [refusal_of(model, call) for call in (close, subset, train)]

    assert met == ["", "", "ParameterSetChanged"]


def test_good_steps_come_between_sessions() -> None:
    for seed in WALKS:
        rng, model = walked(seed)
        calls = turns.steps_between_sessions(rng, model)
        for call in calls[: len(open_caches(model))]:
            model.perform(call)

        assert open_caches(model) == []


def test_when_asks_the_model() -> None:
    makers = [Making(walked(seed)[1]) for seed in WALKS]

    assert [when(stale)(maker) for maker in makers] == [
        bool(stale(maker.model)) for maker in makers
    ]


class Making:
    def __init__(self, model: Model) -> None:
        self.model, self.calls = model, list[Call]()


def refusals(there_is: There, turn: Turn) -> set[str]:
    """What the turn's calls meet after many walks that leave such a thing."""
    met = set[str]()
    for seed in WALKS:
        rng, model = walked(seed)
        if there_is(model):
            met |= {refusal_of(model, call) for call in turn(rng, model)}
    return met or {"no walk leads here"}


def refusal_of(model: Model, call: Call) -> str:
    try:
        model.perform(call)
    except (EngineError, TypeError) as refusal:
        return type(refusal).__name__
    return ""
