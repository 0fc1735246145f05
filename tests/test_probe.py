"""A probe sees every stage before the commit, and changes nothing."""

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from engine import DecoderConfig, SplitMix64, Stage, generate
from engine.arrays import Array
from engine.stages import Place, row_places
from tests.models import (
    GROUPED,
    PROMPT,
    REQUEST,
    SEED,
    World,
    bits_of,
    decoder_of,
    each_config,
    logical,
)

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


def test_probe_of_a_generation_sees_each_row_and_each_commit() -> None:
    seen: list[tuple[Stage, int]] = []

    def keep(stage: Stage, _layer: int | None, position: int, _value: Array) -> None:
        if stage in {Stage.LOGITS, Stage.COMMIT}:
            seen.append((stage, position))

    decoder, request = decoder_of(), replace(REQUEST, max_new_tokens=2)
    watched = generate(decoder, [0, 1], request, SplitMix64(SEED), probe=keep)
    alone = generate(decoder, [0, 1], request, SplitMix64(SEED))

    assert watched == alone
    assert seen == [
        (Stage.LOGITS, 0),
        (Stage.LOGITS, 1),
        (Stage.COMMIT, 1),
        (Stage.LOGITS, 2),
        (Stage.COMMIT, 2),
    ]
