"""A probe sees every stage before the commit and changes nothing; it may raise."""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import pytest

from engine import DecoderConfig, Probe, Stage, StageFailed, StepOutput
from engine.arrays import Array
from engine.stages import Place, row_places
from tests.models import (
    GROUPED,
    NO_BLOCKS,
    PROMPT,
    TINY,
    World,
    bits_of,
    decoder_of,
    logical,
)

CONFIGS: Final = {"tiny": TINY, "grouped": GROUPED, "no blocks": NO_BLOCKS}
each_config: Final = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)

IN_A_BLOCK: Final = (
    Stage.ATTENTION_NORM,
    Stage.QUERY,
    Stage.KEY,
    Stage.VALUE,
    Stage.QUERY_ROTATION,
    Stage.KEY_ROTATION,
    Stage.SCORES,
    Stage.WEIGHTS,
    Stage.MIXTURE,
    Stage.OUTPUT,
    Stage.ATTENTION_RESIDUAL,
    Stage.FFN_NORM,
    Stage.GATE,
    Stage.UP,
    Stage.PRODUCT,
    Stage.DOWN,
    Stage.FFN_RESIDUAL,
)


class Seen(NamedTuple):
    stage: Stage
    layer: int | None
    position: int
    value: Array


def recorded(config: DecoderConfig) -> tuple[World, list[Seen]]:
    """A world whose probe keeps all that it sees."""
    record: list[Seen] = []

    def keep(stage: Stage, layer: int | None, position: int, value: Array) -> None:
        record.append(Seen(stage, layer, position, value))

    return World(decoder=decoder_of(config), probe=keep), record


def places(config: DecoderConfig) -> list[Place]:
    """All stages of one row, in the specification's order."""
    return [
        (Stage.EMBEDDING, None),
        *((stage, layer) for layer in range(config.n_layers) for stage in IN_A_BLOCK),
        (Stage.FINAL_NORM, None),
        (Stage.LOGITS, None),
    ]


@each_config
def test_probe_sees_every_stage_in_order_and_one_commit_a_call(
    config: DecoderConfig,
) -> None:
    world, record = recorded(config)

    world.session.prefill(PROMPT)
    world.session.decode(2)

    rows = [[(*place, position) for place in places(config)] for position in (0, 1, 2)]
    seen = [each[:3] for each in record]
    assert seen == [
        *rows[0],
        *rows[1],
        (Stage.COMMIT, None, 1),
        *rows[2],
        (Stage.COMMIT, None, 2),
    ]


def test_places_of_a_row_are_those_that_a_probe_sees() -> None:
    assert list(row_places(GROUPED.n_layers)) == places(GROUPED)


def test_probe_sees_values_of_the_right_sizes() -> None:
    world, record = recorded(GROUPED)
    world.session.prefill(PROMPT)

    sizes = {(each.stage, each.layer): each.value.size for each in record[-38:]}

    width = GROUPED.d_model
    kv_width = GROUPED.kv_width
    for layer in range(GROUPED.n_layers):
        found = [sizes[stage, layer] for stage in IN_A_BLOCK]
        scores = 2 * GROUPED.n_heads
        attention = [width, width, kv_width, kv_width, width, kv_width, scores, scores]
        feed_forward = [width, *[GROUPED.d_ff] * 3, width, width]
        assert found == [*attention, width, width, width, *feed_forward]


def test_probe_sees_the_rows_that_are_then_committed() -> None:
    world, record = recorded(GROUPED)

    output = world.session.prefill(PROMPT)

    last = {(each.stage, each.layer): each.value for each in record}
    for layer, rows in enumerate(world.cache.layers):
        assert np.array_equal(rows.keys[:, -1], last[Stage.KEY_ROTATION, layer])
        assert np.array_equal(rows.values[:, -1], last[Stage.VALUE, layer])
    assert np.array_equal(output.logits, last[Stage.LOGITS, None])
    assert np.array_equal(output.logits, last[Stage.COMMIT, None])


def test_probe_is_given_copies_that_refuse_to_be_set() -> None:
    world, record = recorded(GROUPED)
    world.session.prefill(PROMPT)

    writeable = [each.stage for each in record if each.value.flags.writeable]

    assert writeable == []


def test_probe_sees_nothing_committed() -> None:
    lengths: list[int] = []

    def look(*_: object) -> None:
        lengths.append(world.cache.length)

    world = World(decoder=decoder_of(), probe=look)
    world.session.prefill(PROMPT)

    assert set(lengths) == {0}
    lengths.clear()
    world.session.decode(2)
    assert set(lengths) == {2}


@each_config
def test_probe_changes_no_bit(config: DecoderConfig) -> None:
    watched, record = recorded(config)
    alone = World.empty(config)

    for world in (watched, alone):
        world.returned.append(world.session.prefill(PROMPT))
        world.returned.append(world.session.decode(2))

    assert record
    assert logical(watched.cache) == logical(alone.cache)
    assert watched.cache.snapshot().bits == alone.cache.snapshot().bits
    assert list(map(bits_of, watched.returned)) == list(map(bits_of, alone.returned))


class Fault(NamedTuple):
    """Raised from the probe at one event of a call."""

    event: int
    place: Place


def faults(config: DecoderConfig, n_rows: int) -> list[Fault]:
    events = [*places(config) * n_rows, (Stage.COMMIT, None)]
    return [Fault(event, place) for event, place in enumerate(events)]


def failing_at(event: int, error: BaseException) -> Probe:
    """A probe that raises once, at its so many-th call after a reset."""
    events = iter(range(event + 1))

    def raise_there(*_: object) -> None:
        if next(events, None) == event:
            raise error

    return raise_there


def prefill(world: World) -> StepOutput:
    return world.session.prefill(PROMPT)


def decode(world: World) -> StepOutput:
    return world.session.decode(2)


PREFILL_FAULTS: Final = faults(GROUPED, n_rows=2)
DECODE_FAULTS: Final = faults(GROUPED, n_rows=1)
ERRORS: Final = (LookupError(), MemoryError())


def rebound(world: World, probe: Probe) -> World:
    world.session.close()
    world.session = world.cache.bind(world.decoder, probe=probe)
    world.cache.fill_spare(7.0)
    return world


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("fault", DECODE_FAULTS)
def test_decode_that_a_probe_fails_changes_nothing(
    fault: Fault, error: Exception
) -> None:
    probe = failing_at(fault.event, error)
    world = rebound(World.prefilled(GROUPED), probe)
    before = world.everything()

    with pytest.raises(StageFailed) as failure:
        decode(world)

    assert (failure.value.stage, failure.value.layer) == fault.place
    assert failure.value.__cause__ is error
    assert world.everything() == before
    expected = decode(World.prefilled(GROUPED))
    assert bits_of(decode(world)) == bits_of(expected)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("fault", PREFILL_FAULTS)
def test_prefill_that_a_probe_fails_leaves_an_empty_cache(
    fault: Fault, error: Exception
) -> None:
    probe = failing_at(fault.event, error)
    world = rebound(World.empty(GROUPED), probe)
    before = world.everything()

    with pytest.raises(StageFailed) as failure:
        prefill(world)

    assert (failure.value.stage, failure.value.layer) == fault.place
    assert failure.value.__cause__ is error
    after = world.everything()
    assert after.cache._replace(bits=before.cache.bits) == before.cache
    assert after[1:] == before[1:]
    expected = prefill(World.empty(GROUPED))
    assert bits_of(prefill(world)) == bits_of(expected)


@pytest.mark.parametrize("call", [prefill, decode])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit()])
@pytest.mark.parametrize("event", [0, 7, len(DECODE_FAULTS) - 1])
def test_what_is_no_exception_passes_as_it_is(
    event: int, error: BaseException, call: Callable[[World], StepOutput]
) -> None:
    make = World.empty if call is prefill else World.prefilled
    world = rebound(make(GROUPED), failing_at(event, error))
    before = logical(world.cache)

    with pytest.raises(type(error)) as passed:
        call(world)

    assert passed.value is error
    assert logical(world.cache) == before
    assert bits_of(call(world)) == bits_of(call(make(GROUPED)))
