"""Replay alone: every stage that can fail does, by name, and nothing else fails."""

import math

import numpy as np
import pytest

from engine import DecoderConfig, NonFinite, Stage, StageFailed, ZeroEnergyRow
from reference import replay
from reference.replay import Reals
from tests.replayed import initial_weights, small_config

MODEL = small_config(2, 2, 1)
ONE_HEAD = small_config(1, 1, 1)
ATTENTION = "blocks.1.attention"
FFN = "blocks.1.ffn"


# No finite input reaches the weights, the mixture and the residuals: what enters them
# passed a norm or a softmax, and is far from the largest float.
@pytest.mark.parametrize(
    ("stage", "layer", "fills"),
    [
        (Stage.EMBEDDING, None, {"token_embedding.weight": math.nan}),
        (Stage.ATTENTION_NORM, 1, {f"{ATTENTION}_norm.gain": math.inf}),
        (Stage.QUERY, 1, {f"{ATTENTION}.query.weight": math.inf}),
        (Stage.KEY, 1, {f"{ATTENTION}.key.weight": math.inf}),
        (Stage.VALUE, 1, {f"{ATTENTION}.value.weight": -math.inf}),
        (Stage.OUTPUT, 1, {f"{ATTENTION}.output.weight": math.nan}),
        (Stage.FFN_NORM, 1, {f"{FFN}_norm.gain": math.inf}),
        (Stage.GATE, 1, {f"{FFN}.gate.weight": math.inf}),
        (Stage.UP, 1, {f"{FFN}.up.weight": math.inf}),
        (Stage.PRODUCT, 1, {f"{FFN}.gate.weight": 1e200, f"{FFN}.up.weight": 1e200}),
        (Stage.DOWN, 1, {f"{FFN}.down.weight": math.inf}),
        (Stage.FINAL_NORM, None, {"final_norm.gain": math.nan}),
    ],
)
def test_replay_names_the_stage_that_fails(
    stage: Stage, layer: int | None, fills: dict[str, float]
) -> None:
    failure = failure_of(MODEL, filled(MODEL, fills), [0, 1])

    assert (failure.stage, failure.layer) == (stage, layer)
    assert isinstance(cause := failure.__cause__, NonFinite)
    assert not math.isfinite(cause.value)


def test_replay_names_the_first_bad_value() -> None:
    poisoned = initial_weights(MODEL)
    poisoned["token_embedding.weight"] = poisoned["token_embedding.weight"].copy()
    poisoned["token_embedding.weight"][3, 0] = math.inf

    failure = failure_of(MODEL, poisoned, [0, 1])

    assert (failure.stage, failure.layer) == (Stage.LOGITS, None)
    assert isinstance(cause := failure.__cause__, NonFinite)
    assert cause.index == 3


@pytest.mark.parametrize(
    ("stage", "fills"),
    [
        (Stage.ATTENTION_NORM, {"token_embedding.weight": 1e200}),
        (Stage.FFN_NORM, {"blocks.0.attention.output.weight": 1e200}),
    ],
)
def test_replay_sees_an_infinite_mean_square(
    stage: Stage, fills: dict[str, float]
) -> None:
    """It would vanish in the division: the rows would be zeros."""
    failure = failure_of(MODEL, filled(MODEL, fills), [0, 1])

    assert (failure.stage, failure.layer) == (stage, 0)
    assert isinstance(cause := failure.__cause__, NonFinite)
    assert (cause.index, cause.value) == (0, math.inf)


@pytest.mark.parametrize(
    ("n_layers", "stage", "layer"),
    [(0, Stage.FINAL_NORM, None), (1, Stage.ATTENTION_NORM, 0)],
)
def test_replay_names_the_row_without_energy(
    n_layers: int, stage: Stage, layer: int | None
) -> None:
    model = small_config(n_layers, 2, 1, rms_epsilon=0.0)
    poisoned = initial_weights(model)
    poisoned["token_embedding.weight"] = poisoned["token_embedding.weight"].copy()
    poisoned["token_embedding.weight"][3] = 1e-200  # its square is 0

    failure = failure_of(model, poisoned, [0, 3, 3])

    assert (failure.stage, failure.layer) == (stage, layer)
    assert isinstance(cause := failure.__cause__, ZeroEnergyRow)
    assert cause.row == 1


def test_replay_of_a_row_without_energy_is_flat_with_an_epsilon() -> None:
    replayed = replay(MODEL, filled(MODEL, {"token_embedding.weight": 0.0}), [0])

    assert np.array_equal(replayed.logits, np.zeros((1, 5)))


def test_replay_judges_a_rotation() -> None:
    poisoned = filled(
        ONE_HEAD,
        {
            "token_embedding.weight": 1.0,
            "blocks.0.attention.query.weight": 0.0,
            "blocks.0.attention.key.weight": 0.8e308,
        },
    )

    # Position 0 is not turned; position 1 adds sin and cos of 1, which is 1.38.
    alone = replay(ONE_HEAD, poisoned, [0])
    failure = failure_of(ONE_HEAD, poisoned, [0, 0])

    assert np.isfinite(alone.logits).all()
    assert (failure.stage, failure.layer) == (Stage.KEY_ROTATION, 0)
    assert isinstance(cause := failure.__cause__, NonFinite)
    assert (cause.index, cause.value) == (3, math.inf)


def two_token_scores(
    query: float, first_key: float, second_key: float
) -> dict[str, Reals]:
    """One head whose queries and keys are known.

    Token 0 has the query ``(query, 0)`` and twice the key ``first_key``, token 1 the
    query 0 and twice the key ``second_key``: before the rotation, all times sqrt(2).
    """
    return filled(ONE_HEAD, {"blocks.0.attention.output.weight": 0.0}) | {
        "token_embedding.weight": np.array([[1, 0], [0, 1], [1, 1], [1, 1], [1, 1.0]]),
        "blocks.0.attention.query.weight": np.array([[query, 0], [0, 0]]),
        "blocks.0.attention.key.weight": np.array(
            [[first_key, first_key], [second_key, second_key]]
        ),
    }


def test_replay_judges_a_visible_score() -> None:
    failure = failure_of(ONE_HEAD, two_token_scores(1e200, 1e200, 0.0), [1, 0])

    assert (failure.stage, failure.layer) == (Stage.SCORES, 0)
    assert isinstance(cause := failure.__cause__, NonFinite)
    assert (cause.index, cause.value) == (3, math.inf)


def test_replay_judges_no_masked_score() -> None:
    replayed = replay(ONE_HEAD, two_token_scores(1e200, 0.0, 1e200), [0, 1])

    assert np.isfinite(replayed.logits).all()
    assert replayed.attention_scores == 4


def test_replay_takes_a_score_that_is_too_far_below_the_maximum() -> None:
    """Its distance is infinite, which is a weight of 0 and no fault."""
    opposite = two_token_scores(0.0, 0.0, 0.0) | {
        "blocks.0.attention.query.weight": np.array([[1e154, 0], [0, 0]]),
        "blocks.0.attention.key.weight": np.array([[8.9e153, 0], [-8.9e153, 0]]),
    }

    replayed = replay(ONE_HEAD, opposite, [1, 0])

    assert np.isfinite(replayed.logits).all()


def test_replay_takes_a_gate_of_any_finite_size() -> None:
    gates = {
        "token_embedding.weight": 1.0,
        "blocks.0.attention.output.weight": 0.0,
        "blocks.0.ffn.up.weight": 1e-10,
    }

    for gate in (1e300, -1e300):
        wide = filled(ONE_HEAD, gates | {"blocks.0.ffn.gate.weight": gate})
        wide["blocks.0.ffn.down.weight"] = np.full((3, 2), 1e-200)
        assert np.isfinite(replay(ONE_HEAD, wide, [0]).logits).all()


def filled(config: DecoderConfig, fills: dict[str, float]) -> dict[str, Reals]:
    """Initial weights, some of them filled with one value."""
    initial = initial_weights(config)
    return initial | {
        name: np.full_like(initial[name], value) for name, value in fills.items()
    }


def failure_of(
    config: DecoderConfig, weights: dict[str, Reals], token_ids: list[int]
) -> StageFailed:
    with pytest.raises(StageFailed) as caught:
        replay(config, weights, token_ids)
    return caught.value
