"""Every gradient against central differences of the replay in extended precision.

The five-point difference (f(w-2h) - 8f(w-h) + 8f(w+h) - f(w+2h)) / 12h is wrong by
h^4/30 times the fifth derivative, and by eps/h times what the replay rounds. With
h = eps^(1/4) the first is eps/30 times a derivative that reaches 10^6 where a row to
normalize is short, the second about 10 eps^(3/4). The bound of 100 eps^(3/4) is 6e-13
where ``longdouble`` has 64 bits of mantissa (seen: 3e-14, mostly the rounding of the
gradient itself), and 2e-10 where it is binary64 (seen: 3e-11).
"""

from typing import Final

import numpy as np
import pytest

from engine import Decoder, SplitMix64, loss_and_gradients
from reference.replay import Real, Reals
from tests.replayed import replayed_loss, small_config, weights_of

EPSILON: Final = float(np.finfo(np.longdouble).eps)
STEP: Final = np.longdouble(2) ** round(np.log2(EPSILON) / 4)
BOUND: Final = 100 * EPSILON**0.75
STENCIL: Final = {-2: 1, -1: -8, 1: 8, 2: -1}


# Each with the number of its scalars.
MODELS: Final = {
    "no-block": (small_config(0, 1, 1), 12),
    "one-block": (small_config(1, 2, 2), 132),
    "two-blocks": (small_config(2, 1, 1), 88),
    "one-shared-head": (small_config(1, 2, 1), 116),
    "two-shared-heads": (small_config(1, 4, 2), 328),
    "two-blocks-with-a-shared-head": (small_config(2, 2, 1), 208),
    "no-epsilon": (small_config(1, 1, 1, rms_epsilon=0.0), 50),
}


@pytest.mark.parametrize(
    ("token_ids", "target_ids"),
    [([1], [0]), ([0, 2, 1, 2], [2, 1, 2, 2])],
    ids=["one-token", "four-tokens"],
)
@pytest.mark.parametrize("model", MODELS)
def test_gradients_are_the_slopes_of_the_replay(
    model: str, token_ids: list[int], target_ids: list[int]
) -> None:
    config, n_scalars = MODELS[model]
    decoder = Decoder.initialize(config, SplitMix64(7))
    weights = extended(decoder)

    def loss_by_replay(moved: dict[str, Reals]) -> Real:
        return replayed_loss(config, moved, token_ids, target_ids, np.longdouble)

    loss, gradients = loss_and_gradients(decoder, token_ids, target_ids)
    slopes = [
        [
            sum(
                factor * loss_by_replay(moved(weights, parameter.name, index, steps))
                for steps, factor in STENCIL.items()
            )
            / (12 * STEP)
            for index in np.ndindex(parameter.value.shape)
        ]
        for parameter in decoder.parameters
    ]

    assert abs(loss - loss_by_replay(weights)) <= BOUND
    assert sum(map(len, slopes)) == n_scalars
    for gradient, expected in zip(gradients, slopes, strict=True):
        assert gradient.size == len(expected)
        assert np.max(np.abs(gradient.ravel() - np.array(expected))) <= BOUND


def extended(decoder: Decoder) -> dict[str, Reals]:
    """The parameters in extended precision."""
    return {
        name: value.astype(np.longdouble) for name, value in weights_of(decoder).items()
    }


def moved(
    weights: dict[str, Reals], name: str, index: tuple[int, ...], steps: int
) -> dict[str, Reals]:
    """The weights with one scalar some steps away."""
    value = weights[name].copy()
    value[index] += steps * STEP
    return weights | {name: value}
