"""What each corruption makes of every vector."""

from typing import Final

import numpy as np
import pytest

from engine import SplitMix64
from engine.arrays import DType, Heads
from properties.corruptions import CORRUPTIONS, halved, moved, neighbours, zeroed

_DTYPES: Final[tuple[DType, ...]] = ("float64", "float32")


def rows(dtype: DType = "float64", length: int = 3) -> Heads:
    drawn: Heads = SplitMix64(7).units(2 * length * 4).reshape(2, length, 4)
    return drawn.astype(dtype)


def test_zeroed_leaves_nothing() -> None:
    assert not zeroed(rows(), SplitMix64(0)).any()


def test_neighbours_come_from_the_next_position_or_the_one_before_the_last() -> None:
    sound = rows()

    assert np.array_equal(neighbours(sound, SplitMix64(0)), sound[:, [1, 2, 1]])


def test_neighbours_of_a_lone_position_are_its_own() -> None:
    sound = rows(length=1)

    assert np.array_equal(neighbours(sound, SplitMix64(0)), sound)


def test_halved_keeps_eleven_bits() -> None:
    sound = np.array([[[1.0, 1 + 2**-10, 1 + 2**-12, 1e9]]])

    assert halved(sound, SplitMix64(0)).tolist() == [[[1.0, 1 + 2**-10, 1.0, np.inf]]]


@pytest.mark.parametrize("size", ["1e-2", "1e-4", "1e-7", "1e-10"])
def test_moved_vectors_are_off_by_so_much_of_their_length(size: str) -> None:
    sound = rows()
    off = np.linalg.norm(CORRUPTIONS[size](sound, SplitMix64(1)) - sound, axis=-1)

    assert off / np.linalg.norm(sound, axis=-1) == pytest.approx(float(size), rel=1e-4)


def test_moved_vectors_go_each_their_own_way() -> None:
    sound = np.ones((1, 2, 4))
    first, second = moved(1e-2, sound, SplitMix64(1))[0]

    assert not np.allclose(first, second, rtol=1e-4)


def test_moved_vectors_of_no_length_stay() -> None:
    assert not moved(1e-2, np.zeros((1, 1, 2)), SplitMix64(1)).any()


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_corruptions_keep_shape_dtype_and_what_was_sound(
    name: str, dtype: DType
) -> None:
    sound = rows(dtype)
    corrupted = CORRUPTIONS[name](sound, SplitMix64(1))

    assert (corrupted.shape, corrupted.dtype) == (sound.shape, sound.dtype)
    assert np.array_equal(sound, rows(dtype))
