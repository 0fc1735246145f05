"""Floating-point settings are the engine's own; the caller's do not count or change."""

import warnings
from collections.abc import Callable
from typing import Final, Literal

import numpy as np
import pytest

from engine import (
    Decoder,
    DecodeRequiresPrefill,
    NonFinite,
    OptimizerError,
    StageFailed,
    loss_and_gradients,
)
from engine.arrays import Numbers
from engine.floating import is_surely_finite, raising, require_finite, silently
from tests.models import (
    GROUPED,
    PROMPT,
    TINY,
    World,
    bits_of,
    decoder_of,
    filled,
    held,
    ones_for,
)

Verdict = Literal["ignore", "warn", "raise", "print"]
VERDICTS: Final[tuple[Verdict, ...]] = ("ignore", "warn", "raise", "print")
HUGE: Final = {"blocks.0.ffn.gate.weight": 1e200, "blocks.0.ffn.up.weight": 1e200}


def overflowing() -> Decoder:
    return filled(TINY, HUGE)


def run_all(decoder: Decoder) -> list[object]:
    """Every call that computes; what fails gives its stage."""
    world = World(decoder=decoder)
    given: list[object] = []
    for call in (
        lambda: bits_of(world.session.prefill(PROMPT)),
        lambda: bits_of(world.session.decode(2)),
        lambda: loss_and_gradients(decoder, [0], [1])[0],
    ):
        try:
            given.append(call())
        except StageFailed as failure:
            given.append(failure.args)
        except DecodeRequiresPrefill as refusal:
            given.append(type(refusal))
    world.session.close()
    parameters = decoder.parameters
    given.append(world.optimizer.step(parameters, ones_for(parameters)))
    return [*given, held(decoder)]


@pytest.mark.parametrize("make", [lambda: decoder_of(GROUPED), overflowing])
@pytest.mark.parametrize("verdict", VERDICTS)
def test_settings_of_the_caller_neither_count_nor_change(
    verdict: Verdict, make: Callable[[], Decoder]
) -> None:
    expected = run_all(make())

    with np.errstate(all=verdict):
        before = np.geterr()
        given = run_all(make())
        after = np.geterr()

    assert after == before == dict.fromkeys(before, verdict)
    assert given == expected


def test_no_warning_escapes() -> None:
    with warnings.catch_warnings(record=True) as escaped:
        warnings.simplefilter("always")
        run_all(overflowing())
        run_all(decoder_of(GROUPED))

    assert escaped == []


def test_gradient_beyond_the_largest_float_is_refused_without_a_warning() -> None:
    world = World.closed()
    gradients = ones_for(world.decoder.parameters)
    huge = np.full(2, np.longdouble("1e4000"))
    gradients[1] = huge  # type: ignore[assignment] # wider floats, which fit nowhere
    before = world.everything()

    with pytest.raises(OptimizerError):
        world.optimizer.step(world.decoder.parameters, gradients)

    assert world.everything() == before


@pytest.mark.parametrize(
    ("values", "index", "value"),
    [
        ([1.0, np.inf], 1, np.inf),
        ([-np.inf, np.inf], 0, -np.inf),
        ([[1.0, 2.0], [-np.inf, 3.0]], 2, -np.inf),
        (np.asfortranarray([[1.0, np.inf], [-np.inf, 1.0]]), 1, np.inf),
        (np.array(np.inf), 0, np.inf),
    ],
)
def test_first_value_that_is_not_finite_is_named(
    values: Numbers, index: int, value: float
) -> None:
    with pytest.raises(NonFinite) as failure:
        require_finite(np.asarray(values))

    assert failure.value.args == (index, value)
    assert type(failure.value.index) is int
    assert type(failure.value.value) is float


def test_nan_is_named() -> None:
    with pytest.raises(NonFinite) as failure:
        require_finite(np.array([1.0, np.nan, np.inf]))

    assert failure.value.index == 1
    assert np.isnan(failure.value.value)


@pytest.mark.parametrize("values", [[1e308, -1e308], [], [5e-324, -0.0]])
def test_finite_values_pass(values: list[float]) -> None:
    require_finite(np.array(values))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 5, 9])
def test_glance_never_takes_a_bad_value_for_a_good_one(place: int, bad: float) -> None:
    values = np.zeros(10)
    assert is_surely_finite(values)
    values[place] = bad

    assert not silently(is_surely_finite, values)


def test_overflow_raises_or_is_silent() -> None:
    huge = np.array([1e308])

    with pytest.raises(FloatingPointError):
        raising(np.add, huge, huge)
    assert silently(np.add, huge, huge).tolist() == [np.inf]


@pytest.mark.parametrize("within", [raising, silently])
def test_underflow_is_legal(within: Callable[..., object]) -> None:
    with np.errstate(all="raise"):
        assert within(np.exp, np.float64(-800.0)) == 0.0


def test_contexts_can_be_entered_inside_each_other() -> None:
    huge = np.array([1e308])

    def add() -> float:
        return float((huge + huge)[0])

    def add_silently() -> float:
        return silently(add)

    def add_raising() -> float:
        return raising(add)

    assert raising(add_silently) == np.inf
    with pytest.raises(FloatingPointError):
        silently(add_raising)
