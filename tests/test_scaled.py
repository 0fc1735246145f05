"""The scripts across scales are as far from the edge as they say."""

from collections import Counter
from functools import cache
from typing import Final, get_args

import numpy as np
import pytest

from engine import Stage, StageFailed
from engine.arrays import DType
from engine.stages import Place, row_places
from properties.aims import UNREACHABLE, aims
from properties.drawn import initial_weights
from properties.scaled import N_LAYERS, N_PROMPT, Scaled, Zone, scaled_scripts
from properties.script import from_json, to_json
from reference import replay
from reference.replay import Reals

NO_BEYOND: Final = {
    str(aim)
    for aim in aims(N_LAYERS, has_epsilon=True)
    if "norm" in aim.place[0] and aim.power == 1
}
"""A gain is finite, and no row is more than the root of its width times as large."""


@cache
def scripts() -> tuple[Scaled, ...]:
    return tuple(scaled_scripts())


def replayed(scaled: Scaled) -> Place | None:
    script = scaled.script
    weights = initial_weights(script.config, script.weights)
    try:
        replay(script.config, weights, scaled.history[:N_PROMPT])
    except StageFailed as failure:
        return failure.stage, failure.layer
    return None


def test_aims_are_every_stage_that_is_not_called_unreachable() -> None:
    aimed = {aim.place for aim in aims(N_LAYERS, has_epsilon=False)}
    beside = {
        aim.beside
        for aim in aims(N_LAYERS, has_epsilon=False)
        if aim.beside is not None
    }
    unreachable = {place for place in row_places(N_LAYERS) if place[0] in UNREACHABLE}

    assert aimed | beside | unreachable == {*row_places(N_LAYERS)}
    assert {stage for stage, _ in aimed & unreachable} == set()
    assert set(Stage) - {stage for stage, _ in row_places(1)} <= set(UNREACHABLE)


def test_one_aim_more_without_epsilon() -> None:
    with_one, without = (
        list(aims(N_LAYERS, has_epsilon=each)) for each in (True, False)
    )

    assert len(without) == len(with_one) + 1
    assert {str(each) for each in without} - {str(each) for each in with_one} == {
        "attention norm of block 0 of the embedding that vanishes"
    }


@pytest.mark.parametrize("dtype", get_args(DType))
def test_every_aim_is_in_every_zone(dtype: DType) -> None:
    zones = {
        (str(each.aim), each.zone)
        for each in scripts()
        if each.script.config.dtype == dtype
    }
    due = {
        (str(aim), zone)
        for aim in aims(N_LAYERS, has_epsilon=False)
        for zone in Zone
        if zone is not Zone.BEYOND or str(aim) not in NO_BEYOND
    }

    assert zones == due


def test_every_power_of_two_round_the_edge_is_there() -> None:
    """Within thirteen of it on either side, for what a projection can pass."""
    of_queries = Counter(
        each.zone
        for each in scripts()
        if each.aim.place == (Stage.QUERY, 1)
        and each.script.config.rms_epsilon > 0
        and each.script.config.dtype == "float32"
    )

    assert of_queries[Zone.EDGE] >= 26 + 7  # and seven on the brim
    assert of_queries[Zone.BELOW] >= 4
    assert of_queries[Zone.BEYOND] >= 1


def test_scripts_survive_as_text() -> None:
    for each in scripts()[::97]:
        assert from_json(to_json(each.script)) == each.script


@pytest.mark.parametrize("zone", [Zone.BELOW, Zone.BEYOND])
def test_replay_fails_where_the_weights_make_it_fail(zone: Zone) -> None:
    chosen = [each for each in scripts() if each.zone is zone][::7]

    assert [each for each in chosen if replayed(each) not in each.places] == []


def test_places_away_from_the_edge_are_one() -> None:
    assert {len(each.places) for each in scripts() if each.zone is not Zone.EDGE} == {1}


@pytest.mark.parametrize("stage", [Stage.QUERY, Stage.KEY, Stage.GATE, Stage.UP])
def test_what_is_made_of_a_large_stage_is_ordinary(stage: Stage) -> None:
    """Else a softmax, or the stream, would show little of the rest."""
    chosen = [
        each
        for each in scripts()
        if each.zone is Zone.BELOW
        if each.aim.place[0] == stage
    ]

    for each in chosen:
        recorded = dict[Place, Reals]()
        script = each.script
        weights = initial_weights(script.config, script.weights)
        replay(script.config, weights, each.history, record=recorded.__setitem__)
        made = Stage.SCORES if stage in {Stage.QUERY, Stage.KEY} else Stage.DOWN
        assert np.abs(recorded[made, each.aim.place[1]]).max() < 100
