"""A counter that has no room is foreseen before anything is computed, to the last one.

A wrong forecast is caught at the commit too, so only who watches the stages sees it.
"""

from typing import Final

import pytest

from engine import Decoder, DecoderConfig, KVCache, Stage, Work, WorkOverflow
from engine.work import MAX_COUNT
from tests.models import GROUPED, NO_BLOCKS, TINY, decoder_of

N_PROMPT: Final = 3
CONFIGS: Final = pytest.mark.parametrize("config", [TINY, GROUPED])


def scores_of(config: DecoderConfig, length: int) -> int:
    """What all rows of a prefix form, one by one."""
    return config.n_layers * config.n_heads * sum(range(1, length + 1))


def watched(decoder: Decoder, room: int) -> tuple[KVCache, list[Stage]]:
    """A cache with room for so many scores, and what a probe will see."""
    return KVCache(decoder, Work(attention_scores=MAX_COUNT - room)), list[Stage]()


@CONFIGS
def test_scores_of_a_prompt_fit_exactly(config: DecoderConfig) -> None:
    decoder = decoder_of(config)
    cache, _ = watched(decoder, scores_of(config, N_PROMPT))
    with cache.bind(decoder) as session:
        session.prefill(range(N_PROMPT))

    assert cache.work.attention_scores == MAX_COUNT


@CONFIGS
def test_prompt_with_one_score_too_many_forms_none(config: DecoderConfig) -> None:
    decoder = decoder_of(config)
    cache, seen = watched(decoder, scores_of(config, N_PROMPT) - 1)
    with (
        cache.bind(decoder, lambda stage, *_: seen.append(stage)) as session,
        pytest.raises(WorkOverflow),
    ):
        session.prefill(range(N_PROMPT))

    assert seen == []


@CONFIGS
def test_scores_of_a_decode_fit_exactly(config: DecoderConfig) -> None:
    decoder = decoder_of(config)
    cache, _ = watched(decoder, scores_of(config, N_PROMPT + 1))
    with cache.bind(decoder) as session:
        session.prefill(range(N_PROMPT))
        session.decode(0)

    assert cache.work.attention_scores == MAX_COUNT


@CONFIGS
def test_decode_with_one_score_too_many_forms_none(config: DecoderConfig) -> None:
    decoder = decoder_of(config)
    cache, seen = watched(decoder, scores_of(config, N_PROMPT + 1) - 1)
    with cache.bind(decoder, lambda stage, *_: seen.append(stage)) as session:
        session.prefill(range(N_PROMPT))
        seen.clear()
        with pytest.raises(WorkOverflow):
            session.decode(0)

    assert seen == []


def test_last_counter_of_a_decoder_without_blocks_is_foreseen_too() -> None:
    """One row adds 1 to each count there, which is as little as a row can add."""
    decoder, seen = decoder_of(NO_BLOCKS), list[Stage]()
    cache = KVCache(decoder, Work(token_forwards=MAX_COUNT))
    with (
        cache.bind(decoder, lambda stage, *_: seen.append(stage)) as session,
        pytest.raises(WorkOverflow),
    ):
        session.prefill([0])

    assert seen == []


def test_counter_that_is_just_full_is_not_the_one_that_overflows() -> None:
    worn = Work(token_forwards=MAX_COUNT - 1, prefill_tokens=MAX_COUNT)

    with pytest.raises(WorkOverflow) as refused:
        worn.plus(Work(token_forwards=1, prefill_tokens=1))

    assert refused.value.counter == "prefill_tokens"
