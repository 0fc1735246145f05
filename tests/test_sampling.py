"""Choosing a token: which one, from which interval, by which draw."""

import math

import numpy as np
import pytest

from engine.arrays import Vector
from engine.request import Greedy, TopK
from engine.sampling import Choice, choose
from engine.splitmix import SplitMix64

_LARGEST = float(np.finfo(np.float64).max)


def _logits(*values: float) -> Vector:
    logits: Vector = np.array(values, dtype=np.float64)
    return logits


def _unit(seed: int) -> float:
    return float(SplitMix64(seed).units(1)[0])


def _choices(logits: Vector, mode: TopK, count: int) -> set[Choice]:
    """Choices by many draws, with the draw itself forgotten."""
    stream = SplitMix64(0)
    drawn = (choose(logits, mode, stream) for _ in range(count))
    return {choice._replace(unit_draw=None) for choice in drawn}


@pytest.mark.parametrize(
    ("logits", "token_id"),
    [((0, 3, 1), 1), ((2, 5, 5), 1), ((0.0, -0.0), 0), ((-0.0, 0.0), 0), ((7,), 0)],
)
def test_greedy_takes_the_first_highest(
    logits: tuple[float, ...], token_id: int
) -> None:
    stream = SplitMix64(3)

    choice = choose(_logits(*logits), Greedy(), stream)

    assert choice == Choice(token_id, None, 0.0, 1.0)
    assert stream.state == 3


@pytest.mark.parametrize("seed", range(20))
def test_topk_draws_once_and_the_draw_lies_in_the_interval(seed: int) -> None:
    stream = SplitMix64(seed)
    once = SplitMix64(seed)
    once.draws(1)

    choice = choose(_logits(0, 1, 2, 3), TopK(temperature=1.0, k=3), stream)

    assert choice.unit_draw == _unit(seed)
    assert choice.interval_start <= choice.unit_draw < choice.interval_end
    assert stream.state == once.state


def test_topk_of_one_draws_and_takes_the_whole_interval() -> None:
    stream = SplitMix64(1)

    choice = choose(_logits(0, 9, 9), TopK(temperature=1.0, k=1), stream)

    assert choice == Choice(1, _unit(1), 0.0, 1.0)
    assert stream.state != 1


def test_topk_intervals_lie_in_ascending_token_order_and_end_at_one() -> None:
    logits = _logits(math.log(2), 0, math.log(5), math.log(3), -1)
    choices = sorted(_choices(logits, TopK(temperature=1.0, k=3), 200))

    assert [choice.token_id for choice in choices] == [0, 2, 3]
    assert [choice.interval_start for choice in choices] == pytest.approx([0, 0.2, 0.7])
    assert choices[0].interval_end == choices[1].interval_start
    assert choices[1].interval_end == choices[2].interval_start
    assert choices[2].interval_end == 1.0


def test_topk_keeps_the_lowest_tokens_among_equals() -> None:
    choices = _choices(_logits(1, 2, 1, 1), TopK(temperature=1.0, k=3), 100)

    assert {choice.token_id for choice in choices} == {0, 1, 2}


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_topk_divides_the_logits_by_the_temperature(temperature: float) -> None:
    choices = _choices(_logits(0, 1), TopK(temperature=temperature, k=2), 50)
    odds = math.exp(1 / temperature)

    assert max(choices).interval_start == pytest.approx(1 / (1 + odds), rel=1e-15)


@pytest.mark.parametrize(
    ("temperature", "start"),
    [(5e-324, 0), (0.5, 0), (1.0, 0), (_LARGEST, 1 / (1 + math.exp(2)))],
)
def test_topk_survives_the_largest_gap(temperature: float, start: float) -> None:
    logits = _logits(-_LARGEST, _LARGEST)
    choices = _choices(logits, TopK(temperature=temperature, k=2), 20)

    assert max(choices).interval_start == pytest.approx(start, rel=1e-15)


def test_topk_never_takes_a_token_without_probability() -> None:
    choices = _choices(_logits(0, 800, -800), TopK(temperature=1.0, k=3), 50)

    assert choices == {Choice(1, None, 0.0, 1.0)}


def test_topk_sums_so_that_many_small_weights_are_not_lost() -> None:
    """A plain sum would keep 1 and drop every weight of 2^-54."""
    n_small = 2**14
    logits = np.full(n_small + 1, -54 * math.log(2))
    logits[0] = 0

    choice = choose(logits, TopK(temperature=1.0, k=n_small + 1), SplitMix64(0))

    assert choice.interval_end == pytest.approx(1 / (1 + n_small * 2.0**-54), abs=1e-16)
    assert choice.interval_end < 1
