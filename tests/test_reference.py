"""Replay alone: what it refuses, what it returns, and what it computes in."""

from dataclasses import replace

import numpy as np
import pytest

from engine import EmptyPrompt, PromptTokenOutOfRange, PromptTooLong
from reference import replay
from tests.golden_refusals import Refusal, refusal_by
from tests.replayed import initial_weights, small_config

MODEL = small_config(2, 2, 1)
ROUNDING = 1e-14  # a sum over more rows may be taken in another order


@pytest.mark.parametrize(
    ("token_ids", "refusal"),
    [
        ([], (EmptyPrompt, {})),
        ([9, 0, 0, 0, 0], (PromptTooLong, {"n_tokens": 5, "capacity": 4})),
        (
            [0, 5, -1],
            (PromptTokenOutOfRange, {"position": 1, "token_id": 5, "vocab_size": 5}),
        ),
        (
            [-1],
            (PromptTokenOutOfRange, {"position": 0, "token_id": -1, "vocab_size": 5}),
        ),
    ],
)
def test_replay_refuses_what_is_no_prompt(
    token_ids: list[int], refusal: Refusal
) -> None:
    assert refusal_by(lambda: replay(MODEL, {}, token_ids)) == refusal


@pytest.mark.parametrize("token_id", [True, np.True_, 1.0, "1", None])
def test_replay_refuses_a_token_that_is_no_integer(token_id: int) -> None:
    with pytest.raises(TypeError):
        replay(MODEL, {}, [0, token_id])


def test_replay_takes_whatever_is_an_integer() -> None:
    token_ids = np.array([0, 1], dtype=np.uint8)

    from_array = replay(MODEL, initial_weights(MODEL), token_ids)
    from_list = replay(MODEL, initial_weights(MODEL), [0, 1])

    assert np.array_equal(from_array.logits, from_list.logits)


def test_replay_has_a_row_for_every_position() -> None:
    replayed = replay(MODEL, initial_weights(MODEL), [0, 1, 2])

    assert replayed.logits.shape == (3, 5)
    assert [rows.shape for rows in replayed.keys] == [(1, 3, 2), (1, 3, 2)]
    assert [rows.shape for rows in replayed.values] == [(1, 3, 2), (1, 3, 2)]
    assert replayed.attention_scores == 2 * 2 * 3**2


def test_replay_of_a_prefix_is_the_prefix_of_a_replay() -> None:
    short = replay(MODEL, initial_weights(MODEL), [0, 1, 2])
    long = replay(MODEL, initial_weights(MODEL), [0, 1, 2, 3])

    assert np.max(np.abs(short.logits - long.logits[:3])) <= ROUNDING
    for ours, theirs in zip(short.keys, long.keys, strict=True):
        assert np.max(np.abs(ours - theirs[:, :3])) <= ROUNDING
    for ours, theirs in zip(short.values, long.values, strict=True):
        assert np.max(np.abs(ours - theirs[:, :3])) <= ROUNDING


def test_replay_computes_in_extended_precision() -> None:
    """A turn whose frequency, sine or cosine were rounded to binary64 is off by 1e-17.

    The second of three pairs turns by the cube root of 1/10, which is exact nowhere.
    """
    model = replace(small_config(1, 1, 1), d_model=6)
    epsilon = np.finfo(np.longdouble).eps

    replayed = replay(model, initial_weights(model), [0, 0, 0, 0], np.longdouble)
    pairs = replayed.keys[0][0, :, 0::2] + 1j * replayed.keys[0][0, :, 1::2]
    turns = pairs[1:] / pairs[:-1]
    angles = np.angle(turns[:, 1])

    assert replayed.logits.dtype == np.longdouble
    assert {rows.dtype for rows in (*replayed.keys, *replayed.values)} == {
        np.dtype(np.longdouble)
    }
    assert np.max(np.abs(np.abs(turns) - 1)) <= 10 * epsilon
    assert np.max(np.abs(angles**3 * 10 - 1)) <= 50 * epsilon
