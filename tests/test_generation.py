"""Generation: what it chooses, what stops it, and what it counts."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from engine.cache import KVCache
from engine.decoder import Decoder
from engine.generation import generate
from engine.request import GenerationWork, Greedy, TopK
from engine.sampling import choose
from engine.splitmix import SplitMix64
from tests.models import REQUEST, decoder_of
from tests.replayed import small_config

CONFIG = small_config(n_layers=2, n_heads=2, n_kv_heads=2)


@pytest.fixture
def decoder() -> Decoder:
    return decoder_of(CONFIG)


def test_generation_is_the_sessions_choices(decoder: Decoder) -> None:
    stream = SplitMix64(5)
    with KVCache(decoder).bind(decoder) as session:
        first = choose(session.prefill([0, 1]).logits, REQUEST.mode, stream)
        second = choose(session.decode(first.token_id).logits, REQUEST.mode, stream)
    rng = SplitMix64(5)
    generation = generate(decoder, [0, 1], replace(REQUEST, max_new_tokens=2), rng)

    assert generation.prompt == (0, 1)
    assert generation.generated == (first.token_id, second.token_id)
    assert [
        (step.token_id, step.unit_draw, step.interval_start, step.interval_end)
        for step in generation.steps
    ] == [first, second]
    assert [step.prefix_length for step in generation.steps] == [2, 3]
    assert rng.state == stream.state


def test_generation_stops_at_the_token_limit(decoder: Decoder) -> None:
    generation = generate(
        decoder, [0], replace(REQUEST, max_new_tokens=2), SplitMix64(1)
    )

    assert (generation.stop, generation.final_length) == ("token-limit", 2)


def test_generation_stops_at_the_context_limit(decoder: Decoder) -> None:
    generation = generate(decoder, [0, 1, 2], REQUEST, SplitMix64(1))

    assert (generation.stop, generation.final_length) == ("context-limit", 4)
    assert len(generation.generated) == 2


@pytest.mark.parametrize("budget", [1, 9])
def test_generation_stops_for_eos_before_the_limits(budget: int) -> None:
    """At capacity 1 all three stops are due at once."""
    decoder = decoder_of(replace(CONFIG, capacity=1))
    chosen = generate(
        decoder, [0], replace(REQUEST, mode=Greedy()), SplitMix64(1)
    ).generated[0]
    generation = generate(
        decoder,
        [0],
        replace(REQUEST, mode=Greedy(), eos_token=chosen, max_new_tokens=budget),
        SplitMix64(1),
    )

    assert generation.stop == "eos"
    assert generation.generated == (chosen,)


def test_generation_stops_for_tokens_before_context() -> None:
    decoder = decoder_of(replace(CONFIG, capacity=1))
    generation = generate(
        decoder, [0], replace(REQUEST, max_new_tokens=1), SplitMix64(1)
    )

    assert generation.stop == "token-limit"


def test_generation_counts_its_work(decoder: Decoder) -> None:
    generation = generate(
        decoder, [0, 1], replace(REQUEST, max_new_tokens=3), SplitMix64(1)
    )

    assert generation.work == GenerationWork(
        prefill_tokens=2,
        decode_tokens=2,
        layer_caches=2,
        cache_appends=8,
        qkv_projection_rows=24,
        cached_attention_scores=4 * (1 + 2 + 3 + 4),
        replayed_attention_scores=4 * (2**2 + 3**2 + 4**2),
    )


def test_generation_without_a_budget_does_nothing(decoder: Decoder) -> None:
    rng = SplitMix64(5)
    generation = generate(decoder, [0, 1], replace(REQUEST, max_new_tokens=0), rng)

    assert (generation.prompt, generation.generated) == ((0, 1), ())
    assert (generation.stop, generation.final_length) == ("token-limit", 0)
    assert generation.work == GenerationWork(
        prefill_tokens=0,
        decode_tokens=0,
        layer_caches=2,
        cache_appends=0,
        qkv_projection_rows=0,
        cached_attention_scores=0,
        replayed_attention_scores=0,
    )
    assert rng.state == 5


def test_greedy_generation_draws_nothing(decoder: Decoder) -> None:
    rng = SplitMix64(5)
    steps = generate(decoder, [0], replace(REQUEST, mode=Greedy()), rng).steps

    assert rng.state == 5
    assert {
        (step.unit_draw, step.interval_start, step.interval_end) for step in steps
    } == {(None, 0.0, 1.0)}


def test_generation_takes_any_iterable_and_any_number(decoder: Decoder) -> None:
    mode = TopK(temperature=np.float32(0.5), k=np.int8(3))  # type: ignore[arg-type] # any real, any integer
    request = replace(
        REQUEST,
        mode=mode,
        eos_token=np.int64(9) % 5,  # type: ignore[arg-type] # any integer
        max_new_tokens=np.uint8(3),  # type: ignore[arg-type] # any integer
    )
    exact = replace(
        REQUEST, mode=TopK(temperature=0.5, k=3), eos_token=4, max_new_tokens=3
    )
    generation = generate(decoder, iter([np.int64(1)]), request, SplitMix64(1))

    assert generation == generate(decoder, [1], exact, SplitMix64(1))


def test_generation_takes_any_object_with_a_state(decoder: Decoder) -> None:
    rng = SimpleNamespace(state=5)
    drawn = SplitMix64(5)
    drawn.draws(2)
    generate(decoder, [0], replace(REQUEST, max_new_tokens=2), rng)

    assert rng.state == drawn.state
