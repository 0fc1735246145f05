"""The model of AdamW: beside the engine's on random gradients, and by hand."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pytest

from engine import (
    AdamW,
    AdamWConfig,
    DuplicateParameter,
    EngineError,
    GradientMismatch,
    NonFiniteUpdate,
    Parameter,
    ParameterBorrowed,
    ParameterSetChanged,
)
from engine.arrays import Array
from reference.optimizer import OptimizerModel
from reference.session import ParameterModel
from tests.models import facts

SHAPES: Final = {"a": (2, 3), "b": (1,), "c": (2,)}
CONSTANTS: Final = AdamWConfig(
    learning_rate=0.5, beta1=0.75, beta2=0.5, epsilon=0.25, weight_decay=0.125
)


def model_of(config: AdamWConfig = CONSTANTS) -> OptimizerModel:
    return OptimizerModel(
        learning_rate=config.learning_rate,
        beta1=config.beta1,
        beta2=config.beta2,
        epsilon=config.epsilon,
        weight_decay=config.weight_decay,
    )


def named(names: Sequence[str] = tuple(SHAPES)) -> list[ParameterModel]:
    return [ParameterModel(name) for name in names]


def values_of(number: float, names: Sequence[str] = tuple(SHAPES)) -> list[Array]:
    return [np.full(SHAPES[name], number) for name in names]


def test_steps_are_the_engines() -> None:
    rng, optimizer, model = np.random.default_rng(38), AdamW(CONSTANTS), model_of()
    values: list[Array] = [rng.normal(size=shape) for shape in SHAPES.values()]
    held = [Parameter(*each) for each in zip(SHAPES, values, strict=True)]
    parameters = named()
    for n_steps in range(1, 6):
        gradients = [rng.normal(size=shape) for shape in SHAPES.values()]
        optimizer.step(held, gradients)
        values = model.step(parameters, values, gradients, ())
        moments = optimizer.snapshot().moments

        assert model.n_steps == n_steps
        assert [each.revision for each in parameters] == 3 * [n_steps]
        assert list(model.moments) == [each.name for each in moments]
        for parameter, value, moment in zip(held, values, moments, strict=True):
            np.testing.assert_allclose(parameter.value, value, rtol=1e-14, atol=0)
            for pair in zip(moment.arrays(), model.moments[moment.name], strict=True):
                np.testing.assert_allclose(*pair, rtol=1e-14, atol=0)


def test_steps_are_those_of_an_example_by_hand() -> None:
    """Powers of two, so that the first step is exact; the second has no gradient."""
    model, parameters = model_of(), named("b")
    (first,) = model.step(parameters, [np.array([8.0])], [np.array([2.0])], ())

    # mean 0.5 / 0.25, square 2 / 0.5; 8 - 0.5 * 2 / (2 + 0.25) - 0.5 * 0.125 * 8
    assert first == [8 - 1 / 2.25 - 0.5]
    assert [each.tolist() for each in model.moments["b"]] == [[0.5], [2.0]]

    (second,) = model.step(parameters, [np.array([8.0])], [np.array([0.0])], ())

    # mean 0.375 / (1 - 0.5625), square 1 / 0.75
    change = 0.5 * (0.375 / 0.4375) / (np.sqrt(1 / 0.75) + 0.25)
    assert second == pytest.approx([8 - change - 0.5], rel=1e-15)
    assert [each.tolist() for each in model.moments["b"]] == [[0.375], [1.0]]


def test_moments_go_by_name_whatever_the_order() -> None:
    gradients = {"a": values_of(2.0, "a"), "b": values_of(3.0, "b")}
    after = list[list[object]]()
    for names in ("ab", "ba"):
        model, values = model_of(), values_of(1.0, names)
        model.step(
            named("ab"), values_of(1.0, "ab"), [*gradients["a"], *gradients["b"]], ()
        )
        given = [gradient for name in names for gradient in gradients[name]]
        made = model.step(named(names), values, given, ())
        shown = dict(zip(names, [each.tolist() for each in made], strict=True))
        moments = [each.tolist() for name in "ab" for each in model.moments[name]]
        after.append([shown["a"], shown["b"], *moments])

    assert after[0] == after[1]


NAN, HUGE = np.full(1, np.nan), np.full(1, 1e200)
FINE: Final = values_of(1.0)


def spoilt(index: int, gradient: Array) -> list[Array]:
    return [*FINE[:index], gradient, *FINE[index + 1 :]]


# Each step breaks the check that is named, and most of those that come after it.
REFUSED: Final = {
    "names twice": (("a", "b", "b", "a"), [NAN], DuplicateParameter("b")),
    "another set": (
        ("a", "b"),
        [NAN],
        ParameterSetChanged(("a", "b", "c"), ("a", "b")),
    ),
    "missing": (tuple("abc"), FINE[:1], GradientMismatch(1, "b", "")),
    "surplus": (tuple("abc"), [*FINE, NAN], GradientMismatch(3, "", "")),
    "a shape": (
        tuple("abc"),
        [FINE[0], np.ones((1, 1)), np.full(2, np.nan)],
        GradientMismatch(1, "b", ""),
    ),
    "not finite": (
        tuple("abc"),
        [1e200 * FINE[0], NAN, NAN],
        GradientMismatch(1, "b", ""),
    ),
    "an update": (tuple("abc"), spoilt(1, HUGE), NonFiniteUpdate(1, "b")),
    "the last scalar": (
        tuple("abc"),
        spoilt(2, np.array([1.0, 1e200])),
        NonFiniteUpdate(2, "c"),
    ),
    "borrowed": (tuple("abc"), FINE, ParameterBorrowed("b")),
}


@pytest.mark.parametrize(("names", "gradients", "error"), REFUSED.values(), ids=REFUSED)
def test_step_is_refused_in_order_and_changes_nothing(
    names: tuple[str, ...], gradients: list[Array], error: EngineError
) -> None:
    model, parameters = model_of(), named(names)
    known = {each.name: each for each in named() + parameters}
    model.step([known[name] for name in SHAPES], FINE, FINE, ())
    before = model.n_steps, model.powers, dict(model.moments)

    with pytest.raises(EngineError) as caught:
        model.step(
            [known[name] for name in names],
            values_of(1.0, names),
            gradients,
            {known["b"], known["c"]},
        )

    assert told(caught.value) == told(error)
    assert before == (model.n_steps, model.powers, model.moments)
    assert [known[name].revision for name in SHAPES] == [1, 1, 1]


def told(error: Exception) -> tuple[object, ...]:
    """Class and fields, but for the prose."""
    leaf, fields, _ = facts(error)
    assert isinstance(fields, tuple)
    return leaf, fields[:2] if leaf is GradientMismatch else fields


def test_refused_first_step_fixes_no_names() -> None:
    model = model_of()
    with pytest.raises(NonFiniteUpdate):
        model.step(named("b"), [np.ones(1)], [HUGE], ())

    (value,) = model.step(named("c"), [np.ones(2)], [np.ones(2)], ())

    assert value.shape == (2,)
    assert list(model.moments) == ["c"]


def test_overflow_of_a_value_is_no_warning() -> None:
    with pytest.raises(NonFiniteUpdate) as refusal:
        model_of().step(named("b"), [np.full(1, -1.7e308)], [np.full(1, 1e308)], ())

    assert refusal.value.args == (0, "b")
