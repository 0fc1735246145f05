"""Caches, sessions and generation of a float32 decoder."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from engine import (
    ConfigMismatch,
    GenerationRequest,
    Greedy,
    KVCache,
    SplitMix64,
    TopK,
    generate,
)
from reference.generation import generate_by_replay
from reference.session import CacheModel, DecoderModel
from tests.models import (
    GROUPED,
    PROMPT,
    REQUEST,
    SINGLE,
    World,
    bits_of,
    decoder_of,
    logical,
    widened,
)

UNIT: Final = float(np.finfo(np.float32).eps) / 2


def test_decoding_after_a_part_gives_the_bits_of_the_whole_prompt() -> None:
    whole, split = World.empty(SINGLE), World.empty(SINGLE)
    expected = whole.session.prefill((0, 1, 2))
    split.session.prefill((0, 1))

    newest = split.session.decode(2)

    assert newest.logits.tobytes() == expected.logits.tobytes()
    assert logical(split.cache)[2] == logical(whole.cache)[2]


@pytest.mark.parametrize("value", [np.nan, np.inf, -3.4e38, 1e-60, 7])
def test_spare_rows_never_reach_a_result(value: float) -> None:
    clean, spoiled = World.empty(SINGLE), World.empty(SINGLE)
    for world in (clean, spoiled):
        world.session.prefill(PROMPT)
    spoiled.cache.fill_spare(value)
    stored = np.frombuffer(spoiled.cache.snapshot().bits, np.float32)

    np.testing.assert_array_equal(stored[-1], np.array(value, np.float32))
    assert bits_of(spoiled.session.decode(2)) == bits_of(clean.session.decode(2))


@pytest.mark.parametrize("value", [1e300, -3.5e38])
def test_spare_rows_take_no_number_beyond_the_dtype(value: float) -> None:
    world = World.prefilled(SINGLE)
    before = world.everything()

    with pytest.raises(OverflowError, match="no float32 is as large as"):
        world.cache.fill_spare(value)

    assert world.everything() == before
    World.prefilled(GROUPED).cache.fill_spare(value)


def test_spare_rows_take_no_number_beyond_every_float() -> None:
    """A wider float becomes infinite without a word where Python's is made of it."""
    world = World.prefilled(SINGLE)
    before = world.everything()

    with pytest.raises(OverflowError):
        world.cache.fill_spare(np.finfo(np.longdouble).max)  # type: ignore[arg-type] # real, though of NumPy's own kind

    assert world.everything() == before


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copy_has_the_bits(copied: Callable[[KVCache], KVCache]) -> None:
    world = World.prefilled(SINGLE)
    twin = copied(world.cache)

    assert twin.snapshot() == world.cache.snapshot()
    expected = world.session.decode(2)
    with twin.bind(world.decoder) as session:
        assert bits_of(session.decode(2)) == bits_of(expected)


def test_cache_of_one_dtype_is_not_bound_to_a_decoder_of_the_other() -> None:
    """Nor is it in the reference's model of it."""
    single, double = decoder_of(SINGLE), decoder_of(GROUPED)

    with pytest.raises(ConfigMismatch) as refusal:
        KVCache(single).bind(double)
    assert refusal.value.args == ("dtype", "float32", "float64")

    model = CacheModel(DecoderModel(SINGLE, ()), World.empty().work)
    with pytest.raises(ConfigMismatch) as mirrored:
        model.bind(DecoderModel(GROUPED, ()))
    assert mirrored.value.args == refusal.value.args


def test_dtype_is_compared_after_every_other_field() -> None:
    other = decoder_of(replace(GROUPED, rms_epsilon=0.0))

    with pytest.raises(ConfigMismatch) as refusal:
        KVCache(decoder_of(SINGLE)).bind(other)

    assert refusal.value.field == "rms_epsilon"


@pytest.mark.parametrize(
    "request_",
    [REQUEST, GenerationRequest(mode=Greedy(), eos_token=1, max_new_tokens=3)],
)
def test_generation_is_that_of_the_replay(request_: GenerationRequest) -> None:
    """Draws decide by shares, which differ by roundings far smaller than any gap."""
    decoder, rngs = decoder_of(SINGLE), (SplitMix64(5), SplitMix64(5))
    wide = widened(decoder)
    made = generate(decoder, PROMPT, request_, rngs[0])
    replayed = generate_by_replay(wide.config, wide.weights, PROMPT, request_, rngs[1])

    assert made.generated == replayed.generated
    assert (made.stop, made.work) == (replayed.stop, replayed.work)
    assert rngs[0].state == rngs[1].state
    for one, other in zip(made.steps, replayed.steps, strict=True):
        assert one.unit_draw == other.unit_draw
        assert one.interval_end == pytest.approx(other.interval_end, abs=64 * UNIT)
        assert type(one.interval_end) is float


def test_shares_are_computed_in_float64_from_the_logits_as_they_are() -> None:
    decoder = decoder_of(SINGLE)
    with KVCache(decoder).bind(decoder) as session:
        logits = [float(each) for each in session.prefill(PROMPT).logits]
    request = GenerationRequest(
        mode=TopK(temperature=1.0, k=3), eos_token=None, max_new_tokens=1
    )
    (step,) = generate(decoder, PROMPT, request, SplitMix64(5)).steps
    shares = np.exp(np.array(logits) - max(logits))
    shares /= shares.sum()

    assert step.interval_end - step.interval_start == pytest.approx(
        shares[step.token_id], rel=1e-14
    )
