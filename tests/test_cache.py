"""A cache keeps rows in storage of its own, and tells all of its state."""

import copy
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from engine import DecoderConfig, InvalidConfig, KVCache, Work
from tests.models import (
    GROUPED,
    NO_BLOCKS,
    PROMPT,
    TINY,
    World,
    bits_of,
    decoder_of,
    each_config,
    logical,
    step_once,
)


@each_config
def test_new_cache_is_empty(config: DecoderConfig) -> None:
    cache = KVCache(decoder_of(config))

    assert (cache.length, cache.capacity, cache.work) == (0, 4, Work())
    assert cache.is_empty
    assert not cache.is_full
    assert not any(cache.snapshot().bits)


@each_config
def test_layers_have_the_shape_of_the_prefix(config: DecoderConfig) -> None:
    cache = World.prefilled(config).cache

    assert len(cache.layers) == config.n_layers
    for rows in cache.layers:
        assert rows.length == 2
        assert rows.keys.shape == (config.n_kv_heads, 2, config.head_dim)
        assert rows.values.shape == rows.keys.shape


@each_config
def test_storage_is_distinct_and_never_reallocated(config: DecoderConfig) -> None:
    world = World.empty(config)
    before = world.cache.storage_ids

    world.session.prefill(PROMPT)
    world.session.decode(2)
    world.session.reset()
    world.session.prefill(PROMPT)
    world.cache.fill_spare(np.nan)

    assert world.cache.storage_ids == before
    buffers = [buffer for pair in before for buffer in pair]
    assert len(buffers) == len(set(buffers)) == 2 * config.n_layers


@each_config
def test_full_cache_says_so(config: DecoderConfig) -> None:
    cache = World.full(config).cache

    assert cache.is_full
    assert cache.length == cache.capacity == 4


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e308, 0.0])
@each_config
def test_spare_rows_never_reach_a_result(config: DecoderConfig, value: float) -> None:
    clean, spoiled = World.empty(config), World.empty(config)
    for world in (clean, spoiled):
        spoil = world is spoiled
        for token_ids, then in (PROMPT, 2), ((2,), 1):
            if spoil:
                world.cache.fill_spare(value)
            world.returned.append(world.session.prefill(token_ids))
            if spoil:
                world.cache.fill_spare(value)
            world.returned.append(world.session.decode(then))
            world.session.reset()
        world.session.prefill(PROMPT)

    assert list(map(bits_of, spoiled.returned)) == list(map(bits_of, clean.returned))
    assert logical(spoiled.cache) == logical(clean.cache)


def test_spare_rows_are_filled_outside_the_prefix_only() -> None:
    world = World.prefilled(GROUPED)
    before = logical(world.cache)

    world.cache.fill_spare(7.0)

    stored = np.frombuffer(world.cache.snapshot().bits).reshape(2, 2, 2, 4, 2)
    assert (stored[..., 2:, :] == 7.0).all()
    assert not (stored[..., :2, :] == 7.0).any()
    assert logical(world.cache) == before


def test_spare_rows_of_an_unbound_cache_can_be_filled() -> None:
    cache = KVCache(decoder_of())

    cache.fill_spare(7.0)

    assert (np.frombuffer(cache.snapshot().bits) == 7.0).all()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@each_config
def test_copy_is_unbound_with_the_same_state_in_its_own_buffers(
    config: DecoderConfig, copied: Callable[[KVCache], KVCache]
) -> None:
    world = World.prefilled(config)
    world.cache.fill_spare(7.0)

    twin = copied(world.cache)

    assert twin.snapshot() == world.cache.snapshot()
    assert not set(twin.storage_ids) & set(world.cache.storage_ids)
    with twin.bind(world.decoder) as session:
        expected = bits_of(world.session.decode(2))
        assert bits_of(session.decode(2)) == expected
    assert logical(twin) == logical(world.cache)


def test_copy_goes_its_own_way() -> None:
    world = World.prefilled()
    before = world.cache.snapshot()
    twin = copy.copy(world.cache)

    with twin.bind(world.decoder) as session:
        session.decode(2)
        session.reset()

    assert world.cache.snapshot() == before
    assert twin.length == 0


def test_snapshot_does_not_tell_whether_a_cache_is_bound() -> None:
    world = World.prefilled()
    bound = world.cache.snapshot()

    world.session.close()

    assert world.cache.snapshot() == bound


def test_snapshots_of_caches_of_two_decoders_differ() -> None:
    assert KVCache(decoder_of()).snapshot() != KVCache(decoder_of()).snapshot()


def test_many_caches_of_one_decoder_know_nothing_of_each_other() -> None:
    alone = World.prefilled()
    decoder = decoder_of()
    caches = [KVCache(decoder) for _ in range(3)]
    sessions = [cache.bind(decoder) for cache in caches]
    for session in sessions:
        session.prefill(PROMPT)
    sessions[0].decode(0)
    sessions[1].reset()

    output = sessions[2].decode(2)

    assert bits_of(output) == bits_of(alone.session.decode(2))


def test_giant_cache_is_a_memory_error_and_leaves_nothing() -> None:
    decoder = decoder_of(replace(TINY, capacity=2**57))

    with pytest.raises(MemoryError):
        KVCache(decoder)

    step_once(decoder)


def test_cache_without_blocks_has_room_without_bound() -> None:
    world = World.empty(replace(NO_BLOCKS, capacity=2**70))

    assert world.session.prefill(PROMPT).length == 2
    assert world.cache.capacity == 2**70
    assert world.cache.snapshot().bits == b""
    assert world.cache.storage_ids == ()


def test_cache_with_counters_out_of_range_is_not_made() -> None:
    with pytest.raises(InvalidConfig):
        KVCache(decoder_of(), work=Work(token_forwards=-1))
