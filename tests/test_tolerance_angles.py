"""The bound of a rotation is of the angles by which the decoder turns."""

from typing import Final

import numpy as np
import pytest

from properties.drawn import initial_weights
from properties.replayed import Replayed
from properties.rounding import Floats, Off, Rounding
from properties.script import Weights
from tests.models import GROUPED

TOKENS: Final = 0, 1, 2


def test_angles_of_the_bound_are_those_of_the_decoder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, rotation = list[Floats](), Rounding.rotation

    def watched(self: Rounding, x: Off, angles: Floats, logs: Floats) -> Floats:
        seen.append(angles)
        return rotation(self, x, angles, logs)

    monkeypatch.setattr(Rounding, "rotation", watched)
    config = GROUPED
    weights = initial_weights(config, Weights(seed=1))
    assert Replayed.of(config, weights, TOKENS).bounds.at

    turns = [
        config.rope_base ** (-2 * i / config.head_dim)
        for i in range(config.head_dim // 2)
    ]
    due = [[position * turn for turn in turns] for position in range(len(TOKENS))]
    assert seen
    assert all(np.allclose(each, due, rtol=1e-15, atol=0) for each in seen)
