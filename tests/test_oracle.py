"""What is remembered of a decoder is what it would answer anew."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from engine import AdamWConfig, DecoderConfig, StageFailed
from engine.arrays import Array
from engine.stages import Stage
from properties.built_in import BuiltIn
from properties.chapter import CONFIG
from properties.drawn import initial_weights
from properties.oracle import Oracle
from properties.script import Weights
from properties.subject import Subject
from reference import replay
from tests.models import TINY

WEIGHTS = initial_weights(TINY, Weights(seed=38))


def counted() -> tuple[Oracle, list[BuiltIn]]:
    made = list[BuiltIn]()

    def make(
        config: DecoderConfig, weights: Mapping[str, Array], optimizer: AdamWConfig
    ) -> Subject:
        made.append(BuiltIn(config, weights, optimizer))
        return made[-1]

    return Oracle(make, TINY, WEIGHTS), made


@pytest.mark.parametrize("ahead", [(0,), (0, 1), (1, 2), (1,), ()])
def test_replay_begins_with_the_history(ahead: tuple[int, ...]) -> None:
    known = Oracle(BuiltIn, TINY, WEIGHTS).replay((0,), ahead)

    np.testing.assert_allclose(
        known.replay.logits[0], replay(TINY, WEIGHTS, (0,)).logits[0]
    )


def test_lone_runs_are_made_once_each() -> None:
    oracle, made = counted()
    asked = [((0, 1), 1, 0.0), ((0, 1), 2, 0.0), ((0, 1), 1, np.inf), ((0, 2), 1, 0.0)]
    first = [oracle.lone(*each) for each in asked]

    assert [oracle.lone(*each) for each in asked] == first
    assert len(made) == len(asked)
    assert [len(each.logits) for each in first] == [2, 1, 2, 2]


def test_lone_run_is_fouled(monkeypatch: pytest.MonkeyPatch) -> None:
    fouled = list[tuple[int, float]]()

    def foul(subject: BuiltIn, cache: int, value: float) -> None:
        del subject
        fouled.append((cache, value))

    monkeypatch.setattr(BuiltIn, "foul", foul)
    Oracle(BuiltIn, TINY, WEIGHTS).lone((0,), 1, 0.5)

    assert fouled == [(0, 0.5)]


def test_lone_run_that_fails_has_what_was_raised() -> None:
    run = Oracle(BuiltIn, TINY, WEIGHTS).lone((0, 9), 1, 0.0)

    assert run.logits[1] == b"DecodeTokenOutOfRange(token_id=9, vocab_size=3)"


def test_nothing_can_be_replayed_and_overflow_cannot() -> None:
    huge = initial_weights(TINY, Weights(seed=38, scale=1e100))
    oracle = Oracle(BuiltIn, TINY, huge)

    assert oracle.can_replay(())
    assert not oracle.can_replay((0,))
    with pytest.raises(StageFailed):
        oracle.replay((0,), (0, 1))


def test_overflow_is_that_of_the_first_row_or_of_the_first_stage() -> None:
    """A session goes row by row, a loss stage by stage through all rows."""
    config = replace(CONFIG, n_layers=1)
    weights = initial_weights(config, Weights(seed=0, scale=1e77))
    oracle = Oracle(BuiltIn, config, weights)

    with pytest.raises(StageFailed) as row:
        oracle.replay((1, 0), (1, 0))
    with pytest.raises(StageFailed) as whole:
        oracle.replay_whole((1, 0))
    assert (row.value.stage, whole.value.stage) == (Stage.FINAL_NORM, Stage.FFN_NORM)
