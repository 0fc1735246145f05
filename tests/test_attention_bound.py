"""What errors of attention can do its bound allows, and no more: ties, and one key."""

from dataclasses import replace
from typing import Final, get_args

import numpy as np
import pytest

from engine import Stage
from engine.arrays import Array, DType
from properties.allowed import Allowed
from properties.replayed import Replayed
from properties.rounding import CONFIDENCE, Off, Rounding
from properties.tolerance import ALIGNED, APART
from tests.models import EMBEDDING
from tests.perturbed import Case, deviation, misses
from tests.probed import recorded_by_probe
from tests.ruled import (
    FAINT,
    N_TOKENS,
    drawn,
    mixed,
    mixed_off,
    only_weights,
    visible_softmax,
)
from tests.test_tolerance import SHALLOW, Pass
from tests.weights_of_kinds import Drawn, drawn_weights

each_dtype: Final = pytest.mark.parametrize("dtype", get_args(DType))


def two_opposite(amount: float) -> tuple[Off, Off]:
    """Scores of two keys that are off, and values of both signs that are not."""
    scores = Off(np.zeros((1, 2, 2)), np.full((1, 2, 2), amount))
    return scores, Off(np.array([[[1.0], [-1.0]]]), np.zeros((1, 2, 1)))


def any_scores(rng: np.random.Generator, amount: float) -> tuple[Off, Off]:
    """Scores of four keys that are off, and values that are not."""
    scores = np.sqrt(amount) * drawn(rng, 2, N_TOKENS, N_TOKENS)
    values = drawn(rng, 2, N_TOKENS, 2)
    return Off(scores, np.full_like(scores, amount)), Off(values, np.zeros_like(values))


@pytest.mark.parametrize("amount", [FAINT, 0.05, 0.09])
def test_mixture_of_opposite_values_moves_as_its_bound(amount: float) -> None:
    """What one key gains the other loses, so it moves twice as far as by one weight."""
    moved = deviation(Case(two_opposite(amount), mixed, mixed_off))

    assert 0.9 < moved[0, 1, 0] < 1.1


@pytest.mark.parametrize("amount", [0.11, 0.3, 2.0, 30.0, 1e4])
def test_bent_softmax_allows_all_that_its_scores_do(amount: float) -> None:
    """Each is off by its whole bound; a mixture, one amount then, by eight times it."""
    rng = np.random.default_rng(7)
    inputs = [two_opposite(amount), *(any_scores(rng, amount) for _ in range(20))]
    for scores, values in inputs:
        signs = rng.choice([-1.0, 1.0], (500, *scores.value.shape))
        far = scores.value + signs * scores.bound
        weights, case = (
            Case((scores,), visible_softmax, only_weights),
            Case((scores, values), mixed, mixed_off),
        )
        found = misses(visible_softmax(far), weights.made, weights.allowed())
        assert 0.3 < found.max() <= 1 + 1e-9
        found = misses(mixed(far, values.value), case.made, case.allowed())
        assert 0.3 < CONFIDENCE * found.max() <= 1 + 1e-9


def test_values_that_are_nearly_equal_do_not_cancel() -> None:
    """Their squares are equal to the last bit, and they move the mixture yet."""
    scores, values = any_scores(np.random.default_rng(3), 0.05)
    close = Off(1 + 1e-9 * values.value, values.bound)

    assert Case((scores, close), mixed, mixed_off).misses().max() < 0.6


@pytest.mark.parametrize(("row", "made"), [((1, -1, 1, -1), 0), ((1, 1, 1, 1), 1)])
def test_roundings_of_a_mixture_are_those_of_shares_terms_and_partial_sums(
    row: tuple[float, ...], made: float
) -> None:
    rule, quarters = Rounding.of(np.float64), np.tri(4) / np.arange(1, 5)[:, np.newaxis]
    weights = Off(quarters[np.newaxis], np.zeros((1, 4, 4)))
    values = Off(np.array([row])[..., np.newaxis].astype(float), np.zeros((1, 4, 1)))
    mixture = weights.value @ values.value
    bound = rule.mixture(weights, weights.bound, values, mixture)[0, 3, 0]

    share, term, partial = rule.noise * (2 + 5), rule.noise * 2, rule.noise * 2 * made
    assert mixture[0, 3, 0] == made
    due = np.hypot((share + term) / 4 * 2, partial)
    assert bound == pytest.approx(due, rel=1e-9, abs=0)


def saturated_tie(seed: int, dtype: DType) -> Drawn:
    """Two tokens that are equal but for their order of features, and huge scores.

    Their keys are equal, as each row of a matrix is the same and nothing turns the
    features that count; and rounding alone decides which of two keys has all weight.
    """
    rng, width = np.random.default_rng(seed), 4
    config = replace(
        SHALLOW,
        vocab_size=2,
        d_model=width,
        n_heads=1,
        d_ff=8,
        rope_base=1e300,
        rms_epsilon=0.0,
        dtype=dtype,
    )
    weights = dict(drawn_weights(rng, config, "xavier"))
    row = rng.uniform(-1, 1, width)
    weights[EMBEDDING] = np.stack([row, row[::-1]]).astype(dtype)
    weights["blocks.0.attention_norm.gain"] = np.ones(width, dtype)
    for name in ("query", "key"):
        columns = 1e9 * np.array([0, 0, *rng.uniform(-1, 1, width - 2)])
        matrix: Array = np.tile(columns, (width, 1)).astype(dtype)
        weights[f"blocks.0.attention.{name}.weight"] = matrix
    return Drawn(config, weights, (0, 1))


@each_dtype
def test_saturated_tie_may_choose_either_key(dtype: DType) -> None:
    """Of a few, some are not chosen alike; two computations agree within two bounds."""
    n_apart = 0
    for seed in range(20):
        drawn_model = saturated_tie(seed, dtype)
        made, came = Pass(drawn_model), recorded_by_probe(*drawn_model)
        weights = (each[Stage.WEIGHTS, 0] for each in (made.due, came))
        n_apart += np.ptp(np.stack([*weights]), axis=0).max() > 0.4
        for stage in (Stage.WEIGHTS, Stage.MIXTURE):
            bound = made.bounds.at[stage, 0]
            allowed = Allowed(made.due[stage, 0], bound * (1 + 1e-6))
            assert allowed.share(made.replayed.recorded[stage, 0]) <= 1
        for place, due in made.replayed.recorded.items():
            bound = APART * made.bounds.at[place]
            assert Allowed(due, bound).share(came[place]) <= 1, (seed, place)

    assert n_apart > 3


def with_scores(scale: float, seed: int, dtype: DType) -> Drawn:
    """One block whose queries and keys are larger than others."""
    config = replace(SHALLOW, n_layers=1, dtype=dtype)
    weights = dict(drawn_weights(np.random.default_rng(seed), config, "xavier"))
    for name in ("query", "key"):
        full = f"blocks.0.attention.{name}.weight"
        weights[full] = (scale * weights[full]).astype(dtype)
    return Drawn(config, weights, (3, 1, 4, 1, 5, 9, 2, 6))


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("seed", range(3))
def test_first_position_has_one_key_whose_weight_is_exact(
    scale: float, seed: int
) -> None:
    """Its logits are no less known for scores that are off by hundreds."""
    made = Replayed.of(*with_scores(scale, seed, "float32"))
    logits = made.recorded[Stage.LOGITS, None]

    assert not made.bounds.at[Stage.WEIGHTS, 0][:, 0, 1:].any()
    assert made.bounds.logits[0].max() < ALIGNED * 1e-5 * np.abs(logits).max()
    assert (made.bounds.at[Stage.SCORES, 0].max() > 100) == (scale == 1e4)


@pytest.mark.parametrize(
    ("scale", "dtype"),
    [
        (1.0, "float32"),
        (1e2, "float32"),
        (1e4, "float32"),
        (1.0, "float64"),
        (1e2, "float64"),
    ],
)
def test_bound_of_a_position_does_not_know_later_tokens(
    scale: float, dtype: DType
) -> None:
    """With larger scores in float64 it does: by what centring the values may lose."""
    config, weights, tokens = with_scores(scale, 2, dtype)
    whole = Replayed.of(config, weights, tokens).bounds
    for length in range(1, len(tokens)):
        part = Replayed.of(config, weights, tokens[:length]).bounds
        for place, bound in part.at.items():
            rows = whole.at[place][..., :length, :]
            if place[0] in {Stage.SCORES, Stage.WEIGHTS}:
                rows = rows[..., :length]

            np.testing.assert_allclose(bound, rows, rtol=1e-5, err_msg=str(place))
