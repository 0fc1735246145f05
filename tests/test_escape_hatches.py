"""No trick on an array that was handed out changes a weight or a cached row."""

import copy
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import Final

import numpy as np
import pytest

from engine import EngineError, Parameter, Stage, loss_and_gradients
from engine.arrays import Array
from reference.replay import replay
from tests.models import GROUPED, PROMPT, World, bits_of, held, logical, ones_for
from tests.tricks import REFUSALS, TRICKS


def probed(world: World, stage: Stage) -> Array:
    """What a probe is given, for a row that is not committed in the end."""
    values: list[Array] = []

    def keep(seen: Stage, _layer: object, _position: int, value: Array) -> None:
        if seen is stage:
            values.append(value)
            raise LookupError

    world.session.close()
    with world.cache.bind(world.decoder, probe=keep) as session, suppress(EngineError):
        session.decode(2)
    world.session = world.cache.bind(world.decoder)
    return values[0]


def gradient(world: World, index: int) -> Array:
    _, gradients = loss_and_gradients(world.decoder, [0, 1], [1, 2])
    return gradients[index]


def replayed(world: World) -> tuple[Array, ...]:
    weights = {each.name: each.value for each in world.decoder.parameters}
    grids = replay(world.decoder.config, weights, PROMPT)
    given = (grids.logits, grids.keys[0], grids.values[0])
    return tuple(np.asarray(grid, dtype=np.float64) for grid in given)


HANDED_OUT: Final[dict[str, Callable[[World], Array]]] = {
    "embedding": lambda world: world.decoder.parameters[0].value,
    "gain": lambda world: world.decoder.parameters[1].value,
    "logits": lambda world: world.returned[0].logits,
    "keys": lambda world: world.cache.layers[1].keys,
    "values": lambda world: world.cache.layers[1].values,
    "gradient": lambda world: gradient(world, 0),
    "replayed logits": lambda world: replayed(world)[0],
    "replayed keys": lambda world: replayed(world)[1],
    "replayed values": lambda world: replayed(world)[2],
    **{
        f"probed {stage}": partial(probed, stage=stage)
        for stage in Stage
        if stage not in {Stage.LOSS, Stage.GRADIENT}
    },
}


@pytest.mark.parametrize("hand_out", HANDED_OUT.values(), ids=HANDED_OUT)
@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of setting an attribute
def test_trick_on_an_array_changes_no_weight_and_no_row(
    trick: Callable[[Array], None], hand_out: Callable[[World], Array]
) -> None:
    world, undisturbed = World.prefilled(GROUPED), World.prefilled(GROUPED)
    array = hand_out(world)
    before = held(world.decoder), world.cache.snapshot()

    with suppress(*REFUSALS):
        trick(array)

    assert (held(world.decoder), world.cache.snapshot()) == before
    shapes = [each.value.shape for each in world.decoder.parameters]
    assert shapes == [each.value.shape for each in undisturbed.decoder.parameters]
    output = world.session.decode(2)
    assert bits_of(output) == bits_of(undisturbed.session.decode(2))
    assert logical(world.cache) == logical(undisturbed.cache)


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of setting an attribute
def test_trick_on_a_moment_changes_no_optimizer(trick: Callable[[Array], None]) -> None:
    world = World.stepped()
    before = world.optimizer.snapshot()
    bits = [(each.first, each.second) for each in before.moments]

    with suppress(*REFUSALS):
        trick(before.moments[0].arrays()[0])

    after = world.optimizer.snapshot().moments
    assert [(each.first, each.second) for each in after] == bits


def test_array_that_was_given_is_copied() -> None:
    value = np.ones((2, 2))
    parameter = Parameter("weight", value)

    value[...] = 9.0

    assert parameter.value.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_gradients_that_were_given_are_copied() -> None:
    world, undisturbed = World.closed(), World.closed()
    parameters = world.decoder.parameters
    gradients = ones_for(parameters)

    world.optimizer.step(parameters, gradients)
    for gradient in gradients:
        gradient[...] = 9.0

    parameters = undisturbed.decoder.parameters
    undisturbed.optimizer.step(parameters, ones_for(parameters))
    assert world.optimizer.snapshot() == undisturbed.optimizer.snapshot()
    assert held(world.decoder) == held(undisturbed.decoder)


def every_array(world: World) -> list[Array]:
    """One of each kind that was handed out, and all gradients."""
    _, gradients = loss_and_gradients(world.decoder, [0, 1], [1, 2])
    layers = world.cache.layers
    return [
        *(each.value for each in world.decoder.parameters),
        *(output.logits for output in world.returned),
        *(layer.keys for layer in layers),
        *(layer.values for layer in layers),
        *gradients,
        *replayed(world),
    ]


def test_no_two_arrays_share_memory() -> None:
    world = World.full(GROUPED)

    pairs = combinations(every_array(world), 2)

    assert not [pair for pair in pairs if np.shares_memory(*pair)]


def test_what_was_returned_stays_whatever_is_called_later() -> None:
    world = World.full(GROUPED)
    arrays = every_array(world)
    before = [array.tobytes() for array in arrays]

    world.session.reset()
    world.session.prefill([2])
    world.cache.fill_spare(7.0)
    world.session.close()
    parameters = world.decoder.parameters
    world.optimizer.step(parameters, loss_and_gradients(world.decoder, [0], [1])[1])

    assert [array.tobytes() for array in arrays] == before


def test_rows_that_were_handed_out_can_be_changed_by_their_owner() -> None:
    """They are plain copies, so nothing needs to refuse it."""
    world = World.prefilled()
    rows = world.cache.layers[0].keys

    rows[...] = 9.0

    assert (rows == 9.0).all()
    assert not (world.cache.layers[0].keys == 9.0).any()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_borrows_or_is_borrowed_cannot_be_copied(
    copied: Callable[[object], object],
) -> None:
    world = World.prefilled()
    before = world.everything()

    for given in (world.session, world.decoder.parameters[0]):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            copied(given)

    assert world.everything() == before


def test_cache_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match="no pickling"):
        pickle.dumps(World.prefilled().cache)
