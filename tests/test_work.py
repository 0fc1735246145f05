"""Counters are exact, bounded, and predicted by a formula."""

from typing import Final

import numpy as np
import pytest

from engine import DecoderConfig, InvalidConfig, KVCache, Work, WorkOverflow
from engine.work import scores_between
from tests.models import GROUPED, NO_BLOCKS, PROMPT, TINY, World, decoder_of

MAX: Final = 2**64 - 1
FIELDS: Final = Work._fields


def with_counter(field: str, value: object) -> Work:
    """One counter of any type whatever."""
    return Work(**{field: value})  # type: ignore[arg-type] # judged at run time


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (-1, "must be at least 0"),
        (MAX + 1, "must be at most 2^64 - 1"),
        (1.0, "must be an integer"),
        (True, "must be an integer"),
        (None, "must be an integer"),
    ],
)
def test_counter_out_of_its_domain_is_refused(
    field: str, value: object, reason: str
) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        KVCache(decoder_of(), work=with_counter(field, value))

    assert refusal.value.args == (field, value, reason)


@pytest.mark.parametrize("field", FIELDS)
def test_counter_is_kept_as_a_plain_integer(field: str) -> None:
    cache = KVCache(decoder_of(), work=with_counter(field, np.uint64(7)))

    assert cache.work == with_counter(field, 7)
    assert {type(count) for count in cache.work} == {int}


def test_counters_may_be_at_their_limit() -> None:
    full = Work(*[MAX] * len(FIELDS))

    assert KVCache(decoder_of(), work=full).work == full


@pytest.mark.parametrize("config", [TINY, GROUPED, NO_BLOCKS])
def test_work_is_what_the_formula_says(config: DecoderConfig) -> None:
    world = World.prefilled(config)
    world.session.decode(2)

    layers = config.n_layers
    assert world.cache.work == Work(
        token_forwards=3,
        prefill_tokens=2,
        decode_tokens=1,
        cache_appends=3 * layers,
        qkv_projection_rows=9 * layers,
        attention_scores=layers * config.n_heads * (1 + 2 + 3),
    )
    assert scores_between(config, 1, 3) == layers * config.n_heads * (2 + 3)


def test_output_counts_the_newest_row_alone() -> None:
    world = World.prefilled(GROUPED)

    assert world.returned[0].attention_scores == 2 * 4 * 2
    assert world.session.decode(2).attention_scores == 2 * 4 * 3


def test_counters_go_on_from_where_they_are() -> None:
    world = World.prefilled(TINY, Work(decode_tokens=5, attention_scores=7))

    assert world.cache.work == Work(2, 2, 5, 2, 6, 10)


# What a prefill of two tokens adds to each counter of a decoder of one block and head.
ADDED: Final = dict(zip(FIELDS, (2, 2, 0, 2, 6, 3), strict=True))
COUNTED: Final = [field for field in FIELDS if ADDED[field]]


@pytest.mark.parametrize("field", COUNTED)
def test_prefill_may_fill_a_counter_to_its_limit(field: str) -> None:
    world = World.empty(TINY, with_counter(field, MAX - ADDED[field]))

    world.session.prefill(PROMPT)

    assert getattr(world.cache.work, field) == MAX


@pytest.mark.parametrize("field", COUNTED)
def test_prefill_that_would_pass_a_limit_is_refused(field: str) -> None:
    world = World.empty(TINY, with_counter(field, MAX - ADDED[field] + 1))
    before = world.everything()

    with pytest.raises(WorkOverflow) as refusal:
        world.session.prefill(PROMPT)

    assert refusal.value.counter == field
    assert world.everything() == before


@pytest.mark.parametrize(
    "field", [field for field in FIELDS if field != "prefill_tokens"]
)
def test_decode_that_would_pass_a_limit_is_refused(field: str) -> None:
    world = World.prefilled(TINY, with_counter(field, MAX - ADDED[field]))
    before = world.everything()

    with pytest.raises(WorkOverflow) as refusal:
        world.session.decode(2)

    assert refusal.value.counter == field
    assert world.everything() == before


def test_first_counter_in_order_is_named() -> None:
    for index, field in enumerate(COUNTED):
        full = Work(**dict.fromkeys(COUNTED[index:], MAX))
        with pytest.raises(WorkOverflow) as refusal:
            World.empty(TINY, full).session.prefill(PROMPT)

        assert refusal.value.counter == field


def test_reset_makes_room_again() -> None:
    world = World.prefilled(TINY, Work(token_forwards=MAX - 2))

    world.session.reset()

    assert world.cache.work == Work()
    world.session.prefill(PROMPT)
    assert world.cache.work.token_forwards == 2
