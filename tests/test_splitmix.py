"""SplitMix64: the recorded stream, its state, and what is no state."""

import numpy as np
import pytest

from engine.errors import InvalidConfig
from engine.splitmix import SplitMix64

# Three draws from seed 0, as published with the generator's reference code.
_FROM_ZERO = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
_INCREMENT = 0x9E3779B97F4A7C15


def test_splitmix_draws_the_published_words() -> None:
    assert SplitMix64(0).draws(3).tolist() == _FROM_ZERO


def test_splitmix_state_follows_its_draws() -> None:
    stream = SplitMix64(2**64 - 1)
    stream.draws(2)

    assert stream.state == (2 * _INCREMENT - 1) % 2**64


def test_splitmix_draws_the_same_one_by_one() -> None:
    stream = SplitMix64(38)
    singly = [int(stream.draws(1)[0]) for _ in range(5)]

    assert singly == SplitMix64(38).draws(5).tolist()


def test_splitmix_no_draw_changes_nothing() -> None:
    stream = SplitMix64(5)
    stream.draws(0)

    assert stream.state == 5


def test_splitmix_units_are_the_upper_53_bits() -> None:
    units = SplitMix64(0).units(3)

    assert units.tolist() == [(word >> 11) * 2.0**-53 for word in _FROM_ZERO]


def test_splitmix_goes_on_from_a_state_that_was_set() -> None:
    stream = SplitMix64(7)
    stream.state = 0

    assert stream.draws(1).tolist() == _FROM_ZERO[:1]


def test_splitmix_shows_its_state() -> None:
    assert repr(SplitMix64(255)) == "SplitMix64(0xff)"


@pytest.mark.parametrize("state", [np.uint64(2**64 - 1), np.array(2**64 - 1)])
def test_splitmix_keeps_a_plain_integer(state: int) -> None:
    kept = SplitMix64(state).state

    assert (type(kept), kept) == (int, 2**64 - 1)


@pytest.mark.parametrize("state", [-1, 2**64, True, 1.0, "0", None])
def test_splitmix_refuses_what_is_no_state(state: int) -> None:
    stream = SplitMix64(9)

    with pytest.raises(InvalidConfig) as refusal:
        stream.state = state

    assert (refusal.value.field, refusal.value.value) == ("state", state)
    assert stream.state == 9
    with pytest.raises(InvalidConfig):
        SplitMix64(state)


def test_splitmix_refuses_more_words_than_memory_can_hold() -> None:
    stream = SplitMix64(9)

    with pytest.raises(MemoryError):
        stream.draws(2**62)

    assert stream.state == 9
