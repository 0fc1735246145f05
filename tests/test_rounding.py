"""Each rule of rounding has every term of its operation, and none that is too large."""

from itertools import combinations
from typing import Final

import numpy as np
import pytest

from properties.rounding import CONFIDENCE, Floats, Off, Rounding
from tests.perturbed import Case, deviation, misses
from tests.ruled import (
    N_TOKENS,
    cases,
    drawn,
    mixed,
    mixed_off,
    normed,
    off,
    only_weights,
    visible_softmax,
)

SINGLE: Final = Rounding.of(np.float32)
RULES: Final = tuple(cases())
each_rule: Final = pytest.mark.parametrize("rule", RULES)
each_scale: Final = pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150])

LEAST: Final = {"norm": 0.6}
"""The least deviation, where it is less than 0.9: a norm takes what points along."""


@each_scale
@each_rule
def test_what_comes_in_spreads_as_independent_draws_do(rule: str, scale: float) -> None:
    case = cases(scale)[rule]
    indices = range(len(case.inputs))
    for n_exact in indices:
        for exact in combinations(indices, n_exact):
            deviations = deviation(case.with_exact(exact))
            moved = deviations[deviations > 0]  # not so a masked weight, or the only

            assert len(moved) > deviations.size / 2
            assert LEAST.get(rule, 0.9) <= moved.min()
            assert 0.9 <= moved.max() <= 1.1


@each_scale
@each_rule
def test_nothing_spreads_from_exact_numbers_without_rounding(
    rule: str, scale: float
) -> None:
    case = cases(scale)[rule]

    assert not case.with_exact(range(len(case.inputs))).allowed().any()


@each_scale
@each_rule
def test_rounding_alone_has_a_bound(rule: str, scale: float) -> None:
    case = cases(scale)[rule]
    bound = case.with_exact(range(len(case.inputs))).allowed(Rounding.of(np.float64))

    assert (bound[case.made != 0] > 0).all()
    assert np.isfinite(bound).all()


@each_rule
def test_single_precision_stays_within_the_bound_of_its_rounding(rule: str) -> None:
    largest = [missed_in_single(cases(seed=seed)[rule]) for seed in range(50)]

    assert max(largest) < 0.4
    assert np.median(largest) > 0.01


def missed_in_single(case: Case) -> float:
    """By how many bounds the operation misses in float32, its inputs exact."""
    exact = [each.value.astype(np.float32) for each in case.inputs]
    came = case.compute(*exact)
    wide = [Off(each.astype(np.float64), np.zeros(each.shape)) for each in exact]
    case = case._replace(inputs=tuple(wide))
    assert came.dtype == np.float32
    return float(misses(came, case.made, case.allowed(SINGLE)).max())


@pytest.mark.parametrize("is_positive", [False, True])
@pytest.mark.parametrize("n_terms", [2, 30, 1000, 5000])
def test_sum_one_after_the_other_stays_within_the_bound(
    n_terms: int, *, is_positive: bool
) -> None:
    """Of a product and of scores; partial sums grow where all terms are positive."""
    rng = np.random.default_rng(n_terms)
    x, row = drawn(rng, 200, n_terms), drawn(rng, 1, n_terms)
    if is_positive:
        x, row = np.abs(x), np.abs(row)
    narrow = x.astype(np.float32) * row.astype(np.float32)
    summed = np.add.accumulate(narrow, axis=1)[:, -1:].astype(np.float64)
    due: Floats = x @ row.T
    exact, key = Off(x, np.zeros_like(x)), Off(row, np.zeros_like(row))
    root = np.sqrt(n_terms)

    found = misses(summed, due, SINGLE.product(exact, row.T, due))
    assert 0.04 < found.max() < 0.4
    found = misses(summed / root, due / root, SINGLE.scores(exact, key, due / root))
    assert 0.04 < found.max() < 0.4


def test_norm_of_squares_one_after_the_other_stays_within_the_bound() -> None:
    x = drawn(np.random.default_rng(2), 200, 5000)
    narrow = x.astype(np.float32)
    squares = np.add.accumulate(narrow * narrow, axis=1)[:, -1:] / np.float32(5000)
    came = (narrow / np.sqrt(squares)).astype(np.float64)
    bound = SINGLE.norm(Off(x, np.zeros_like(x)), np.ones(5000), 0.0)

    assert 0.05 < misses(came, normed(x, 0.0), bound).max() < 0.4
    assert np.abs(came / normed(x, 0.0) - 1).max() > 3 * SINGLE.noise


@pytest.mark.parametrize("amount", [1e-3, 0.02, 0.3, 2.0, 30.0, 1e4])
def test_weights_and_mixture_stay_within_what_scores_allow(amount: float) -> None:
    """Linear, bent and saturated; no draw is of eight deviations."""
    rng = np.random.default_rng(7)
    least = 0.03 if amount < 0.1 else 0.03 / CONFIDENCE  # bent, it is one amount
    for _ in range(20):
        scores = off(rng, 1.0, 2, N_TOKENS, N_TOKENS)
        scores = Off(scores.value * amount**0.5, np.full_like(scores.value, amount))
        weights = Case((scores,), visible_softmax, only_weights)

        found = weights.misses(200).max()
        assert 0.1 < found <= 1 + 1e-9
        values = drawn(rng, 2, N_TOKENS, 2)
        mixture = Case((scores, Off(values, np.zeros_like(values))), mixed, mixed_off)
        assert least < mixture.misses(200).max() < 1


def test_score_far_below_the_largest_is_rounded_when_that_is_subtracted() -> None:
    """A score that is 80 below is off by up to 64 units then, and its weight too."""
    rng = np.random.default_rng(3)
    scores: Floats = rng.uniform(-80, 3, (500, 4, 4)).astype(np.float32)
    exact = scores.astype(np.float64)
    weights = visible_softmax(exact)
    bound, _ = SINGLE.softmax(Off(exact, np.zeros_like(exact)), weights)
    found = misses(visible_softmax(scores).astype(np.float64), weights, bound)

    assert 0.05 < found.max() < 0.4


def test_values_are_off_as_much_as_weights_that_they_may_have() -> None:
    """Scores that are off by much may let in another key's value, and its error."""
    rng = np.random.default_rng(9)
    shape = (2, N_TOKENS, N_TOKENS)
    scores = Off(50 * drawn(rng, *shape), np.full(shape, 1e4))
    amounts = np.full((2, N_TOKENS, 2), [[1.0], [1e-4], [1.0], [1e-4]])
    values = Off(np.zeros_like(amounts), amounts)

    assert 0.25 < Case((scores, values), mixed, mixed_off).misses().max() < 0.65
