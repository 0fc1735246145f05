"""How score values grow with the retained length: linearly cached, squared replayed.

Nothing here depends on a clock; times are printed beside the counts, not judged.
"""

from dataclasses import asdict, astuple, dataclass
from typing import Final

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from engine import Decoder, DecoderConfig, KVCache, SplitMix64
from reference import replay

CHAPTER: Final = DecoderConfig(
    vocab_size=5,
    d_model=4,
    n_heads=2,
    n_kv_heads=2,
    d_ff=4,
    n_layers=2,
    capacity=24,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)
LANES: Final = CHAPTER.n_layers * CHAPTER.n_heads
N_PROMPT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Score values up to a retained length, of the newest step and of all steps.

    A step is a decision: the first follows the prompt, each later one a decoded token.
    """

    length: int
    cached_step: int
    replayed_step: int
    cached_total: int
    replayed_total: int
    avoided: int


def growth(length: int) -> Growth:
    """Counted, not predicted: by the session's cache, and on the replays' grids."""
    decoder = Decoder.initialize(CHAPTER, SplitMix64(38))
    weights = {each.name: each.value for each in decoder.parameters}
    history = [position % CHAPTER.vocab_size for position in range(length)]
    cache = KVCache(decoder)
    with cache.bind(decoder) as session:
        newest = session.prefill(history[:N_PROMPT])
        for token_id in history[N_PROMPT:]:
            newest = session.decode(token_id)
    replayed = [
        replay(CHAPTER, weights, history[:n_tokens]).attention_scores
        for n_tokens in range(N_PROMPT, length + 1)
    ]
    cached_total = cache.work.attention_scores
    return Growth(
        length=length,
        cached_step=newest.attention_scores,
        replayed_step=replayed[-1],
        cached_total=cached_total,
        replayed_total=sum(replayed),
        avoided=sum(replayed) - cached_total,
    )


@pytest.mark.parametrize(
    ("length", "figures"),
    [
        (3, (12, 36, 24, 52, 28)),  # the chapter's
        (6, (24, 144, 84, 360, 276)),
        (12, (48, 576, 312, 2_596, 2_284)),
        (24, (96, 2_304, 1_200, 19_596, 18_396)),
    ],
)
def test_growth_of_scores(
    benchmark: BenchmarkFixture, length: int, figures: tuple[int, ...]
) -> None:
    measured: Growth = benchmark.pedantic(growth, args=(length,))
    benchmark.extra_info |= asdict(measured)
    print(f"\n{measured}")

    assert astuple(measured) == (length, *figures)


@pytest.fixture(scope="module")
def swept() -> list[Growth]:
    return [growth(length) for length in range(N_PROMPT, 13)]


def test_growth_of_a_cached_step_is_linear(swept: list[Growth]) -> None:
    steps = [each.cached_step for each in swept]

    assert set(np.diff(steps)) == {LANES}


def test_growth_of_a_replayed_step_is_quadratic(swept: list[Growth]) -> None:
    steps = [each.replayed_step for each in swept]

    assert set(np.diff(steps, 2)) == {2 * LANES}


def test_growth_of_a_cached_session_is_quadratic(swept: list[Growth]) -> None:
    totals = [each.cached_total for each in swept]

    assert set(np.diff(totals, 2)) == {LANES}


def test_growth_of_a_replayed_session_is_cubic(swept: list[Growth]) -> None:
    totals = [each.replayed_total for each in swept]

    assert set(np.diff(totals, 3)) == {2 * LANES}
