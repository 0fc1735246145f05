"""Every refusal of an optimizer step, for one fault or for the earlier of two."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from engine import Decoder, KVCache, Parameter, errors
from engine.arrays import Array
from tests.models import EMBEDDING, World, ones_for, step_inside
from tests.refusals import NAMES, Case, Pair

NAN: Final = np.array([1.0, np.nan])
HUGE: Final = np.full(2, 1e200)


def step(
    world: World, changes: Mapping[int, Array] = {}, n_gradients: int = len(NAMES)
) -> int:
    """With gradients of ones but for the changes, too few of them or one too many."""
    parameters = world.decoder.parameters
    gradients = [*ones_for(parameters), np.ones(1)]
    for index, gradient in changes.items():
        gradients[index] = gradient
    return world.optimizer.step(parameters, gradients[:n_gradients])


def step_only(world: World, *indices: int) -> int:
    chosen = [world.decoder.parameters[index] for index in indices]
    return world.optimizer.step(chosen, ones_for(chosen))


def step_without_gradients(world: World, *indices: int) -> int:
    parameters = world.decoder.parameters
    return world.optimizer.step([parameters[index] for index in indices], [])


def step_beside_a_session(world: World) -> int:
    """A session of a decoder that shares all parameters but the first is open."""
    first, *others = world.decoder.parameters
    fresh = Parameter(first.name, first.value)
    decoder = Decoder.from_parameters(world.decoder.config, [fresh, *others])
    with KVCache(decoder).bind(decoder):
        return step(world)


STEP_CASES: Final = {
    "a duplicate": Case(
        World.closed,
        lambda w: step_only(w, 0, 0),
        errors.DuplicateParameter(EMBEDDING),
        (EMBEDDING,),
    ),
    "another set": Case(
        World.stepped,
        lambda w: step_only(w, *range(10)),
        errors.ParameterSetChanged(NAMES, NAMES[:-1]),
        ("missing ['final_norm.gain']", "surplus []"),
    ),
    "a missing gradient": Case(
        World.closed,
        lambda w: step(w, n_gradients=10),
        errors.GradientMismatch(
            10, NAMES[10], "there are 11 parameters and 10 gradients"
        ),
        (10, NAMES[10], "11 parameters"),
    ),
    "a surplus gradient": Case(
        World.closed,
        lambda w: step(w, n_gradients=12),
        errors.GradientMismatch(11, "", "there are 11 parameters and 12 gradients"),
        (11, "12 gradients"),
    ),
    "a gradient's shape": Case(
        World.closed,
        lambda w: step(w, {1: np.ones(3)}),
        errors.GradientMismatch(1, NAMES[1], "has the shape (3,), the parameter (2,)"),
        (1, NAMES[1], (3,), (2,)),
    ),
    "a gradient's value": Case(
        World.closed,
        lambda w: step(w, {1: NAN}),
        errors.GradientMismatch(1, NAMES[1], "has a value that is not finite"),
        (1, NAMES[1], "not finite"),
    ),
    "an update": Case(
        World.closed,
        lambda w: step(w, {1: HUGE}),
        errors.NonFiniteUpdate(1, NAMES[1]),
        (1, NAMES[1]),
    ),
    "a borrowed parameter": Case(
        World.prefilled, step, errors.ParameterBorrowed(EMBEDDING), (EMBEDDING,)
    ),
    "a step inside a step": Case(
        World.closed,
        lambda w: step_inside(w.decoder.parameters, lambda: step(w)),
        errors.ParameterBorrowed(EMBEDDING),
        (EMBEDDING,),
    ),
}

STEP_PAIRS: Final = {
    "duplicate before set": Pair(
        World.stepped,
        lambda w: step_without_gradients(w, 1, 1),
        errors.DuplicateParameter(NAMES[1]),
    ),
    "set before gradients": Pair(
        World.stepped,
        lambda w: step_without_gradients(w, 1),
        errors.ParameterSetChanged(NAMES, (NAMES[1],)),
    ),
    "count before shape": Pair(
        World.closed,
        lambda w: step(w, {1: np.ones(3)}, n_gradients=10),
        errors.GradientMismatch(
            10, NAMES[10], "there are 11 parameters and 10 gradients"
        ),
    ),
    "the first of two gradients": Pair(
        World.closed,
        lambda w: step(w, {1: NAN, 2: np.ones(3)}),
        errors.GradientMismatch(1, NAMES[1], "has a value that is not finite"),
    ),
    "gradients before updates": Pair(
        World.closed,
        lambda w: step(w, {1: HUGE, 6: NAN}),
        errors.GradientMismatch(6, NAMES[6], "has a value that is not finite"),
    ),
    "the first of two updates": Pair(
        World.closed,
        lambda w: step(w, {6: HUGE, 1: HUGE}),
        errors.NonFiniteUpdate(1, NAMES[1]),
    ),
    "updates before borrows": Pair(
        World.prefilled,
        lambda w: step(w, {6: HUGE}),
        errors.NonFiniteUpdate(6, NAMES[6]),
    ),
    "the first of all borrows": Pair(
        World.closed,
        step_beside_a_session,
        errors.ParameterBorrowed(NAMES[1]),
    ),
}
