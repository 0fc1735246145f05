"""Decodes from given rows: those of an engine that holds these rows."""

from typing import Final

import numpy as np
import pytest

from engine.arrays import DType
from properties.continuation import Copies, decoded
from properties.prefilled import N_STEPS, Prefilled
from properties.strength_models import drawn_models

_DTYPES: Final[tuple[DType, ...]] = ("float64", "float32")
_UNITS: Final = 100  # a sum of so many roundings, and few are so unlucky


def prefilled(name: str, dtype: DType = "float64", seed: int = 3) -> Prefilled:
    return Prefilled.of(drawn_models()[name](dtype, seed))


def continued(
    case: Prefilled, blocks: list[Copies]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    decoder = case.model.decoder
    logits = decoded(decoder.config, decoder.weights, blocks, case.chosen)
    return np.asarray(logits, np.float64)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("name", drawn_models())
def test_sound_rows_go_on_as_on_the_engine(name: str, dtype: DType) -> None:
    case = prefilled(name, dtype)
    (logits,) = continued(case, case.blocks)
    bound = _UNITS * np.finfo(dtype).eps * np.abs(case.logits).max()

    assert logits.shape == (N_STEPS, case.model.decoder.config.vocab_size)
    assert np.abs(logits - case.logits).max() <= bound


@pytest.mark.parametrize("layer", range(3))
@pytest.mark.parametrize("which", range(2))
def test_copies_go_on_as_each_alone(layer: int, which: int) -> None:
    """Also where the blocks before them are of one copy."""
    case = prefilled("grouped")
    pair = [*case.blocks[layer]]
    pair[which] = np.concatenate([pair[which], 2 * pair[which]])
    blocks = case.blocks
    blocks[layer] = Copies(*pair)
    sound, other = continued(case, blocks)
    pair[which] = pair[which][1:]
    blocks[layer] = Copies(*pair)
    (alone,) = continued(case, blocks)
    (undisturbed,) = continued(case, case.blocks)

    assert np.allclose(sound, undisturbed, rtol=1e-12)
    assert np.allclose(other, alone, rtol=1e-12)
    assert not np.allclose(other, sound, rtol=1e-3)


def test_given_rows_stay() -> None:
    case = prefilled("tiny")
    before = [rows.tobytes() for block in case.blocks for rows in block]
    continued(case, case.blocks)

    assert [rows.tobytes() for block in case.blocks for rows in block] == before
