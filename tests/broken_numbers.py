"""Engines that are wrong in one place: what becomes of a number that is none."""

import math

import numpy as np
import pytest

from engine.arrays import Heads, Vector
from engine.floating import silently
from engine.layers import attention_scores, silu
from engine.stages import Place, row_places
from properties.calls import Decode, Prefill
from tests.witness import Witness


def forgets_the_energy(patch: pytest.MonkeyPatch) -> None:
    """A row that is divided by an infinite norm is 0, and then all is finite."""

    def rms_norm(x: Vector, gain: Vector, epsilon: float, position: int) -> Vector:
        del position
        normed: Vector = x / math.sqrt(float(x.dot(x)) / len(x) + epsilon) * gain
        return normed

    patch.setattr("engine.row.rms_norm", rms_norm)


def takes_all_for_finite(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("engine.row.is_surely_finite", lambda _: True)


def clips_scores(patch: pytest.MonkeyPatch) -> None:
    """As a softmax does by itself to a score of -inf."""

    def clipped(queries: Heads, keys: Heads) -> Heads:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = attention_scores(queries, keys)
        finite: Heads = np.nan_to_num(scores)
        return finite

    patch.setattr("engine.row.attention_scores", clipped)


def closes_gates_and_drops_flags(patch: pytest.MonkeyPatch) -> None:
    """SiLU of -inf is 0, and only a flag or a probe would tell."""

    def closed(gate: Vector) -> Vector:
        activated: Vector = silu(np.maximum(gate, np.finfo(gate.dtype).min))
        return activated

    patch.setattr("engine.row.silu", closed)
    patch.setattr("engine.row.raising", silently)


def renames(patch: pytest.MonkeyPatch, one: Place, other: Place) -> None:
    """What fails is told by another name."""

    def renamed(n_layers: int) -> tuple[Place, ...]:
        return tuple(other if each == one else each for each in row_places(n_layers))

    patch.setattr("engine.row.row_places", renamed)


def drops_flags(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("engine.row.raising", silently)


GROWS = (Prefill(prompt=(0, 1)), Decode(token_id=2))

NUMBERS = (Witness("N1", forgets_the_energy, GROWS, scale=1e200),)
