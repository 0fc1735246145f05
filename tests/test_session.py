"""A session extends one prefix, row by row, and computes what a replay computes."""

import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import numpy as np
import pytest

from engine import (
    CacheFull,
    DecoderConfig,
    DecodeTokenOutOfRange,
    EngineError,
    KVCache,
    ParameterBorrowed,
    SessionBusy,
    SessionClosed,
    StageFailed,
)
from reference.replay import replay
from tests.models import (
    GROUPED,
    PROMPT,
    World,
    bits_of,
    decoder_of,
    each_config,
    facts,
    inside,
    logical,
    step_once,
)

HUGE: Final = 2**70


@each_config
def test_rows_and_logits_are_those_of_a_replay(config: DecoderConfig) -> None:
    world = World.prefilled(config)
    output = world.session.decode(2)

    weights = {each.name: each.value for each in world.decoder.parameters}
    expected = replay(config, weights, [*PROMPT, 2])
    assert np.allclose(output.logits, expected.logits[-1], rtol=0, atol=1e-12)
    for layer, rows in enumerate(world.cache.layers):
        assert np.allclose(rows.keys, expected.keys[layer], rtol=0, atol=1e-12)
        assert np.allclose(rows.values, expected.values[layer], rtol=0, atol=1e-12)


@each_config
def test_prefill_gives_the_bits_of_decodes(config: DecoderConfig) -> None:
    at_once, by_row = World.empty(config), World.empty(config)
    by_row.session.prefill([0])
    by_row.session.decode(1)

    output = by_row.session.decode(2)

    assert bits_of(at_once.session.prefill([0, 1, 2])) == bits_of(output)
    assert at_once.cache.snapshot().bits == by_row.cache.snapshot().bits


def test_output_describes_the_newest_row() -> None:
    world = World.empty(GROUPED)

    output = world.session.prefill([0, 1, 2])

    assert (output.position, output.length) == (2, 3)
    assert output.logits.shape == (3,)
    assert output.logits.dtype == np.float64
    assert world.session.cache is world.cache


@each_config
def test_reset_leaves_bits_and_binding_and_gives_the_same_bits(
    config: DecoderConfig,
) -> None:
    world, fresh = World.full(config), World.prefilled(config)
    before = world.cache.snapshot()

    world.session.reset()

    assert world.cache.snapshot() == before._replace(length=0, work=type(before.work)())
    with pytest.raises(ParameterBorrowed):
        step_once(world.decoder)
    assert bits_of(world.session.prefill(PROMPT)) == bits_of(fresh.returned[0])
    assert logical(world.cache) == logical(fresh.cache)


@pytest.mark.parametrize("n_closes", [1, 2, 3])
def test_closing_gives_back_every_borrow_however_often(n_closes: int) -> None:
    world = World.prefilled()

    for _ in range(n_closes):
        world.session.close()

    step_once(world.decoder)
    with pytest.raises(SessionClosed):
        world.session.decode(0)


def test_leaving_with_closes_after_an_exception_too() -> None:
    world = World.closed()

    with suppress(LookupError), world.cache.bind(world.decoder) as session:
        raise LookupError

    with pytest.raises(SessionClosed):
        session.reset()
    world.cache.bind(world.decoder).close()


def test_closed_session_does_not_close_the_next_one() -> None:
    world = World.closed()

    with world.cache.bind(world.decoder) as session:
        world.session.close()
        assert session.decode(2).length == 3


def test_session_keeps_its_cache() -> None:
    decoder = decoder_of()
    session = KVCache(decoder).bind(decoder)
    gc.collect()

    assert session.prefill(PROMPT).length == session.cache.length == 2


def test_failed_calls_one_after_another_leave_no_trace() -> None:
    world, undisturbed = World.prefilled(), World.prefilled()
    for token_id in (9, -1, HUGE):
        with pytest.raises(DecodeTokenOutOfRange):
            world.session.decode(token_id)
    output = world.session.decode(2)

    assert bits_of(output) == bits_of(undisturbed.session.decode(2))


def test_full_cache_stays_full_until_it_is_reset() -> None:
    world = World.full()
    for _ in range(2):
        with pytest.raises(CacheFull):
            world.session.decode(0)

    world.session.reset()

    assert world.session.prefill([0, 1, 2, 0]).length == 4


CALLS: Final[dict[str, Callable[[World], object]]] = {
    "prefill": lambda world: world.session.prefill([2]),
    "decode": lambda world: world.session.decode(2),
    "reset": lambda world: world.session.reset(),
    "close": lambda world: world.session.close(),
    "fill_spare": lambda world: world.cache.fill_spare(7.0),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("is_prefill", [True, False])
def test_probe_that_calls_back_is_busy_and_the_call_goes_on_as_if_it_had_not(
    call: Callable[[World], object], *, is_prefill: bool
) -> None:
    refusals: list[object] = []

    def call_back(*_: object) -> None:
        try:
            call(world)
        except EngineError as error:
            refusals.append(facts(error))

    world = World(decoder=decoder_of(), probe=call_back)
    undisturbed = World.prefilled()
    output = world.session.prefill(PROMPT)
    if not is_prefill:
        refusals.clear()
        output, undisturbed.returned[0] = (
            each.session.decode(2) for each in (world, undisturbed)
        )

    assert set(map(str, refusals)) == {str(facts(SessionBusy()))}
    assert bits_of(output) == bits_of(undisturbed.returned[0])
    assert world.cache.snapshot().bits == undisturbed.cache.snapshot().bits
    world.session.close()
    step_once(world.decoder)


def test_probe_may_look_at_its_cache_and_use_another() -> None:
    world, other = World.closed(GROUPED), World.empty(GROUPED)

    def look() -> object:
        layers = world.cache.layers
        other.session.prefill(PROMPT)
        return world.cache.length, len(layers)

    assert inside(world, lambda _: look()) == (2, 2)
    assert logical(other.cache) == logical(World.prefilled(GROUPED).cache)


def test_failure_is_kept_and_the_session_works_on_inside_except() -> None:
    failing = [True]

    def fail(*_: object) -> None:
        if failing:
            raise LookupError

    world = World(decoder=decoder_of(), probe=fail)
    try:
        world.session.prefill(PROMPT)
    except StageFailed:
        failing.clear()
        assert bits_of(world.session.prefill(PROMPT)) == bits_of(
            World.prefilled().returned[0]
        )
        world.session.close()
        step_once(world.decoder)
    else:
        pytest.fail("the probe was not called")
