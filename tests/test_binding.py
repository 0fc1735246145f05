"""A cache is bound to what its rows were computed from, to the last bit."""

import gc
import math
from dataclasses import replace

import pytest

from engine import (
    CacheInUse,
    ConfigMismatch,
    Decoder,
    KVCache,
    ParameterBorrowed,
    ParameterRevisionMismatch,
)
from tests.models import TINY, World, bits_of, decoder_of, step_once


def test_cache_goes_on_when_it_is_bound_again() -> None:
    world = World.prefilled()
    world.session.close()

    with world.cache.bind(world.decoder) as session:
        output = session.decode(2)

    assert bits_of(output) == bits_of(World.prefilled().session.decode(2))


def test_cache_is_bound_to_an_equal_decoder_of_the_same_parameters() -> None:
    world = World.closed()
    config = replace(world.decoder.config)
    twin = Decoder.from_parameters(config, world.decoder.parameters)

    with world.cache.bind(twin) as session:
        assert session.decode(2).length == 3


def test_reset_heals_no_stale_cache() -> None:
    world = World.prefilled()
    world.session.reset()
    world.session.close()
    step_once(world.decoder)

    with pytest.raises(ParameterRevisionMismatch):
        world.cache.bind(world.decoder)


def test_floats_of_a_configuration_are_compared_to_the_last_bit() -> None:
    world = World.closed()
    given = math.nextafter(TINY.rms_epsilon, math.inf)
    config = replace(TINY, rms_epsilon=given)
    twin = Decoder.from_parameters(config, world.decoder.parameters)

    with pytest.raises(ConfigMismatch) as refusal:
        world.cache.bind(twin)

    assert refusal.value.args == ("rms_epsilon", TINY.rms_epsilon, given)


def test_zeros_of_a_configuration_differ_by_their_sign() -> None:
    decoder = decoder_of(replace(TINY, rms_epsilon=0.0))
    config = replace(TINY, rms_epsilon=-0.0)
    twin = Decoder.from_parameters(config, decoder.parameters)

    with pytest.raises(ConfigMismatch, match="rms_epsilon"):
        KVCache(decoder).bind(twin)


def test_collector_closes_a_session_in_a_cycle() -> None:
    decoder = decoder_of()
    cache = KVCache(decoder)
    cycle: list[object] = [cache.bind(decoder)]
    cycle.append(cycle)
    with pytest.raises(CacheInUse):
        cache.bind(decoder)
    with pytest.raises(ParameterBorrowed):
        step_once(decoder)

    del cycle
    gc.collect()

    cache.bind(decoder).close()
    step_once(decoder)
