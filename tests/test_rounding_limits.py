"""Rules of rounding where errors are large, infinite, or of numbers near the ends."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest

from properties.rounding import CONFIDENCE, Floats, Off, Rounding, spread, total
from tests.perturbed import EXACT, Case, misses
from tests.ruled import (
    WIDTH,
    cases,
    drawn,
    gated,
    mixed,
    mixed_off,
    normed,
    scored,
    turned,
    visible_softmax,
)

RULES: Final = tuple(cases())
DOUBLE: Final = Rounding.of(np.float64)


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("rule", RULES)
def test_infinite_bound_makes_no_bound_nan(rule: str, index: int) -> None:
    case = cases()[rule]
    inputs = list(case.inputs)
    if index < len(inputs):
        inputs[index].bound.flat[0] = np.inf
    bound = case.allowed(DOUBLE)

    assert not np.isnan(bound).any()
    assert (bound >= 0).all()


@pytest.mark.parametrize("amount", [0.01, 0.3, 3.0, 1e3, np.inf])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_normalized_row_is_never_further_off_than_it_can_be(
    amount: float, epsilon: float
) -> None:
    rng = np.random.default_rng(3)
    x, gain = drawn(rng, 5, WIDTH), drawn(rng, WIDTH)
    unit = normed(x, epsilon)
    with np.errstate(all="ignore"):  # as the analysis asks it
        bound = EXACT.norm(Off(x, np.full_like(x, amount)), gain, epsilon)
    most = CONFIDENCE * (np.abs(unit) + np.sqrt(WIDTH)) * np.abs(gain)

    assert (bound <= most * (1 + 1e-12)).all()
    assert ((bound > 0.99 * most).all()) == (amount > 3)


@pytest.mark.parametrize("amount", [0.05, 0.2, 1.0, 10.0])
def test_large_errors_stay_within_the_rules(amount: float) -> None:
    """Beyond first order; no draw is of eight deviations."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        x, y = (
            Off(value, np.full_like(value, amount))
            for value in (drawn(rng, 3, WIDTH), drawn(rng, 3, WIDTH))
        )
        for least, case in (
            (0.1, Case((x, y), scored, Rounding.scores)),
            (0.1, Case((x, y), gated, Rounding.gated)),
            (0.1 / CONFIDENCE, Case((x,), lambda x: normed(x, 0.0), norm_off)),
        ):
            assert least < case.misses(300).max() < 1


def norm_off(rule: Rounding, x: Off, _made: Floats) -> Floats:
    return rule.norm(x, np.ones(WIDTH), 0.0)


@pytest.mark.parametrize("amount", [0.0, 1e-6, 0.1, 1.0, 1e5, np.inf])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e300])
def test_weight_is_off_by_one_at_most_and_a_masked_one_by_nothing(
    amount: float, scale: float
) -> None:
    scores = scale * drawn(np.random.default_rng(1), 2, 7, 7)
    with np.errstate(all="ignore"):  # as the analysis asks it
        bound, drift = DOUBLE.softmax(
            Off(scores, np.full_like(scores, amount)), visible_softmax(scores)
        )

    masked = ~np.tri(7, dtype=bool)
    assert not bound[:, masked].any()
    assert ((bound >= 0) & (bound <= 1 + 1e-14)).all()
    assert ((drift >= 0) & (drift <= CONFIDENCE * np.sqrt(7) * (1 + 1e-14))).all()
    assert not drift[:, masked].any() or amount == np.inf
    assert (bound[:, 0, 0] < 1e-14).all() or amount == np.inf


@pytest.mark.parametrize("gate", [-1e300, -800.0, -40.0, 0.0, 40.0, 800.0, 1e300])
@pytest.mark.parametrize("up", [0.0, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("amount", [0.0, 1e-10])
def test_gate_of_any_size_has_a_bound(gate: float, up: float, amount: float) -> None:
    first, second = (Off(np.array([each]), np.array([amount])) for each in (gate, up))
    with np.errstate(all="ignore"):  # as the analysis asks it
        made = np.array([gate * np.exp(min(gate, 0.0)) * up])
        bound = DOUBLE.gated(first, second, np.nan_to_num(made))

    assert bound[0] > 0
    assert np.isfinite(bound[0]) or gate == up == 1e300


@pytest.mark.parametrize(
    ("amounts", "column"),
    [
        ([1e-320, 0.0], [1.0, 1.0]),
        ([1e300, 1e300], [1e7, 1e7]),
        ([1e-200, 1e-200], [1e-100, 1e-100]),
        ([1.0, 1e-200], [0.0, 1.0]),
        ([1.0, 1e-100], [0.0, 1.0]),
    ],
)
def test_spread_amount_is_neither_lost_nor_beyond_all_floats(
    amounts: list[float], column: list[float]
) -> None:
    wide, matrix = np.array(amounts, "g"), np.array(column, "g")
    due = float(np.sqrt(np.sum((wide * matrix) ** 2)))
    came = spread(np.array(amounts), np.array(column)[:, np.newaxis])

    assert came[0] >= 0.999 * due > 0
    assert came[0] <= max(1.001 * due, 1e-149 * max(amounts) * max(column))
    assert np.isfinite(came[0])


def test_amounts_beyond_all_floats_are_infinite() -> None:
    one, infinite = np.ones(1), np.array([np.inf])
    with np.errstate(all="ignore"):  # as the analysis asks it
        assert spread(1e300 * one, 1e300 * np.ones((1, 1))) == np.inf
        assert spread(infinite, np.zeros((1, 1))) == np.inf
    assert total(infinite, one) == total(one, np.array([np.nan])) == np.inf
    assert total(1e200 * one, 1e200 * one) == pytest.approx(2**0.5 * 1e200)


@pytest.mark.parametrize("size", [3e-45, 1e-43, 1e-40])
def test_what_underflows_is_off_by_subnormals(size: float) -> None:
    rng, single = np.random.default_rng(2), Rounding.of(np.float32)
    x, angles = drawn(rng, 2, 50, WIDTH), rng.uniform(0, 6, (50, WIDTH // 2))
    faint = (size * x).astype(np.float32)
    wide = faint.astype(np.float64)
    none = np.zeros_like(x)

    turn: Callable[..., Floats] = turned  # in any dtype
    came = turn(faint, angles).astype(np.float64)
    bound = single.rotation(Off(wide, none), angles, 0 * angles[0])
    assert 0.05 < misses(came, turned(wide, angles), bound).max() < 1
    gain, unit = faint[0, 0], normed(x, 0.0)
    came = (unit.astype(np.float32) * gain).astype(np.float64)
    bound = single.norm(Off(x, none), wide[0, 0], 0.0)
    assert 0.05 < misses(came, unit * wide[0, 0], bound).max() < 1
    scores = Off(drawn(rng, 2, 50, 50), np.zeros((2, 50, 50)))
    mix: Callable[..., Floats] = mixed  # in any dtype
    came = mix(scores.value.astype(np.float32), faint).astype(np.float64)
    due = mixed(scores.value, wide)
    bound = mixed_off(single, scores, Off(wide, none), due)
    assert 0.01 < misses(came, due, bound).max() < 1
    assert (bound[:, 0] <= 2 * single.smallest).all()  # of one term, not of 50


@pytest.mark.parametrize("base", [1e6, 1.01])
@pytest.mark.parametrize("is_power", [True, False])
def test_angle_is_off_by_what_its_frequency_is(base: float, *, is_power: bool) -> None:
    """A power, or an exponential: by its own rounding, and by its exponent's."""
    width, position = 100, 4095
    shares = -np.arange(0, width, 2) / width
    turns = base**shares if is_power else np.exp(shares * np.log(base))
    wide = position * np.longdouble(base) ** (
        -np.arange(0, width, 2, dtype="g") / width
    )
    angles: Floats = wide.astype(np.float64)[np.newaxis]
    x = drawn(np.random.default_rng(3), 200, 1, width)
    turn: Callable[..., Floats] = turned  # in any dtype
    due = turn(x.astype("g"), wide).astype(np.float64)
    came = turn(x, position * turns)
    exact = Off(x, np.zeros_like(x))

    bound = DOUBLE.rotation(exact, angles, np.log(turns))
    assert 0.1 < misses(came, due, bound).max() < 0.8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_that_of_the_dtype(dtype: type[np.floating]) -> None:
    rule, kind = Rounding.of(dtype), np.finfo(dtype)

    assert rule.noise == 8 * kind.eps / 2
    assert rule.angle == 1.5 * np.finfo(np.float64).eps
    assert 0 < rule.smallest == kind.smallest_subnormal


def test_bounds_go_by_head_with_their_values() -> None:
    rows = np.arange(12.0).reshape(2, 6)
    heads = Off(rows, rows + 100).by_head(3)
    shared = heads.repeated(2)

    for index, first in enumerate((0, 100)):
        assert heads[index][:, 1].tolist() == [
            [first + 6, first + 7],
            [first + 8, first + 9],
            [first + 10, first + 11],
        ]
        for head in range(6):
            assert (shared[index][head] == heads[index][head // 2]).all()
        assert (heads.merged()[index] == rows + first).all()
