"""The hunt rejects engines that are wrong in one place: the proof that it can fail."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from engine import DecoderSession, EngineError, RequestError, StepOutput
from engine.arrays import Heads, Numbers, Rotation, Vector
from engine.layers import attention_scores, rms_norm, rotation
from engine.parameters import Held
from engine.prefix import State
from engine.row import Row
from properties.machine import SessionMachine
from properties.plugin import PROFILES

Patch: TypeAlias = Callable[[pytest.MonkeyPatch], None]

HUNT = settings(
    PROFILES["default"],
    database=None,
    max_examples=300,
    phases=[Phase.generate],  # to reject is enough here, nobody reads the program
    print_blob=False,
)


def position_is_one_too_high(patch: pytest.MonkeyPatch) -> None:
    """Logits cannot see it: only differences of positions matter to them."""

    def shifted(position: int, head_dim: int, base: float) -> Rotation:
        return rotation(position + 1, head_dim, base)

    patch.setattr("engine.row.rotation", shifted)


def position_stays_at_the_prompt(patch: pytest.MonkeyPatch) -> None:
    def stuck(position: int, head_dim: int, base: float) -> Rotation:
        return rotation(min(position, 1), head_dim, base)

    patch.setattr("engine.row.rotation", stuck)


def positions_wrap_at_a_power_of_two(patch: pytest.MonkeyPatch) -> None:
    def wrapped(position: int, head_dim: int, base: float) -> Rotation:
        return rotation(position % 16, head_dim, base)

    patch.setattr("engine.row.rotation", wrapped)


def heads_take_turns(patch: pytest.MonkeyPatch) -> None:
    """Query head h reads key head h mod n_kv_heads."""

    def interleaved(queries: Heads, keys: Heads) -> Heads:
        n_kv_heads, group_size, head_dim = queries.shape
        dealt = queries.reshape(group_size, n_kv_heads, head_dim).transpose(1, 0, 2)
        return attention_scores(np.ascontiguousarray(dealt), keys)

    patch.setattr("engine.row.attention_scores", interleaved)


def newest_key_is_not_seen(patch: pytest.MonkeyPatch) -> None:
    def lagging(queries: Heads, keys: Heads) -> Heads:
        scores = attention_scores(queries, keys)
        if scores.shape[-1] > 1:
            scores[..., -1] = -1e9
        return scores

    patch.setattr("engine.row.attention_scores", lagging)


def rows_are_rounded(patch: pytest.MonkeyPatch) -> None:
    """As if the cache stored float32."""

    def rounded(heads: Heads, unit: Rotation) -> Heads:
        turned = (heads.view(np.complex128) * unit).view(np.float64)
        narrow: Heads = turned.astype(np.float32).astype(np.float64)
        return narrow

    patch.setattr("engine.row.rotate", rounded)


def norm_forgets_epsilon(patch: pytest.MonkeyPatch) -> None:
    def bare(x: Vector, gain: Vector, epsilon: float, position: int) -> Vector:
        return rms_norm(x, gain, 0 * epsilon, position)

    patch.setattr("engine.row.rms_norm", bare)


def decode_commits_nothing(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession.decode

    def decode(session: DecoderSession, token_id: int) -> StepOutput:
        state = session._prefix.state
        output = honest(session, token_id)
        session._prefix.state = state
        return output

    patch.setattr(DecoderSession, "decode", decode)


def reset_keeps_the_counters(patch: pytest.MonkeyPatch) -> None:
    def reset(session: DecoderSession) -> None:
        session._prefix.state = State(0, session._prefix.state.work)

    patch.setattr(DecoderSession, "reset", reset)


def reset_zeroes_the_rows(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession.reset

    def reset(session: DecoderSession) -> None:
        honest(session)
        session.cache.fill_spare(0.0)

    patch.setattr(DecoderSession, "reset", reset)


def refusal_leaves_a_bit(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession.decode

    def decode(session: DecoderSession, token_id: int) -> StepOutput:
        try:
            return honest(session, token_id)
        except RequestError:
            session.cache.fill_spare(0.5)
            raise

    patch.setattr(DecoderSession, "decode", decode)


def one_score_is_not_counted(patch: pytest.MonkeyPatch) -> None:
    def is_surely_finite(row: Row) -> bool:
        row.scores_formed -= 1
        return True

    patch.setattr(Row, "is_surely_finite", is_surely_finite)


def step_leaves_the_revision(patch: pytest.MonkeyPatch) -> None:
    """So that a stale cache is taken for a fresh one."""
    honest = Held.copy_of

    def copy_of(value: Numbers, revision: int) -> Held:
        return honest(value, 0 * revision)

    patch.setattr(Held, "copy_of", copy_of)


BROKEN: list[Patch] = [
    position_is_one_too_high,
    position_stays_at_the_prompt,
    positions_wrap_at_a_power_of_two,
    heads_take_turns,
    newest_key_is_not_seen,
    rows_are_rounded,
    norm_forgets_epsilon,
    decode_commits_nothing,
    reset_keeps_the_counters,
    reset_zeroes_the_rows,
    refusal_leaves_a_bit,
    one_score_is_not_counted,
    step_leaves_the_revision,
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_machine_rejects(broken: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)

    with pytest.raises((AssertionError, EngineError)):
        run_state_machine_as_test(SessionMachine, settings=HUNT)
