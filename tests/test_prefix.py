"""One length for all blocks, and rows beyond it that nobody reads."""

import numpy as np
import pytest

from engine import DecoderConfig, Work
from engine.prefix import Prefix, State
from tests.models import GROUPED, NO_BLOCKS, TINY


@pytest.mark.parametrize("config", [TINY, GROUPED, NO_BLOCKS])
def test_empty_prefix_has_zeros_for_every_block(config: DecoderConfig) -> None:
    prefix = Prefix.empty(config, Work(decode_tokens=5))

    assert prefix.state == State(0, Work(decode_tokens=5))
    assert len(prefix.blocks) == config.n_layers
    for rows in prefix.blocks:
        assert rows.keys.shape == (config.n_kv_heads, config.capacity, config.head_dim)
        assert rows.values.shape == rows.keys.shape
        assert not rows.keys.any()
        assert not rows.values.any()


def test_bits_at_a_position_are_put_back_for_all_blocks() -> None:
    prefix = Prefix.empty(GROUPED, Work())
    for number, rows in enumerate(prefix.blocks):
        rows.keys[...] = number
        rows.values[...] = np.nan
    before = prefix.bits()
    spare = prefix.bits_at(2)

    for rows in prefix.blocks:
        rows.keys[:, 2] = 7.0
        rows.values[:, 2] = 7.0
    changed = prefix.bits()
    prefix.restore(2, spare)

    assert changed != before
    assert prefix.bits() == before


@pytest.mark.parametrize("length", range(GROUPED.capacity + 1))
def test_spare_rows_are_those_from_the_length_on(length: int) -> None:
    prefix = Prefix.empty(GROUPED, Work())
    prefix.state = State(length, Work())

    prefix.fill_spare(7.0)

    for rows in prefix.blocks:
        for stored in rows:
            assert not stored[:, :length].any()
            assert (stored[:, length:] == 7.0).all()


def test_copy_has_the_same_bits_elsewhere_and_nobody_inside() -> None:
    prefix = Prefix.empty(GROUPED, Work())
    prefix.fill_spare(7.0)
    prefix.state = State(1, Work(1))

    twin = prefix.copy()

    assert (twin.state, twin.bits()) == (prefix.state, prefix.bits())
    assert not twin.occupants
    twin.fill_spare(9.0)
    assert not (prefix.blocks[0].keys == 9.0).any()


def test_copy_is_of_one_state_though_a_commit_comes_between() -> None:
    """As another thread's would: between the look at the state and at the rows."""
    prefix = Prefix.empty(TINY, Work())
    commits = iter([State(2, Work(token_forwards=2)), State(0, Work())])

    def read() -> int:
        prefix.state = next(commits, prefix.state)
        return prefix.state.length

    assert prefix.at_one_moment(read) == (State(0, Work()), 0)
