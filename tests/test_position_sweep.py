"""The sweep of positions goes where it says: across every power of two."""

from typing import Final, get_args

import pytest

from engine import CacheFull
from engine.arrays import DType
from properties.calls import Call, Decode, Prefill, Reset
from properties.drawn import initial_weights
from properties.geometry import position_sweep
from properties.model import Model
from properties.script import Script

SCRIPTS: Final = tuple(position_sweep())
BESIDE_POWERS: Final = {2**k + beside for k in range(2, 9) for beside in (-1, 0, 1)}


@pytest.mark.parametrize("dtype", get_args(DType))
def test_sweep_prefills_every_length_beside_a_power_of_two(dtype: DType) -> None:
    lengths = [
        prompt_length(script.calls[-2])
        for script in SCRIPTS
        if script.config.dtype == dtype
    ]

    assert sorted(lengths) == sorted(BESIDE_POWERS)


def test_sweep_decodes_at_every_position_beside_a_power_of_two() -> None:
    positions = {position for script in SCRIPTS for position in decoded(script)}

    assert positions >= BESIDE_POWERS


@pytest.mark.parametrize(
    "script",
    SCRIPTS,
    ids=lambda each: f"{each.config.capacity}-{each.config.dtype}",
)
def test_sweep_decodes_to_the_full_cache_which_refuses_one_more(script: Script) -> None:
    model = Model(script.config, initial_weights(script.config, script.weights))
    *allowed, overflow = script.calls[: script.calls.index(Reset())]
    for call in allowed:
        model.perform(call)

    assert model.caches[0].length == script.config.capacity
    with pytest.raises(CacheFull):
        model.perform(overflow)


def test_sweep_has_blocks_that_hide_each_other() -> None:
    assert {script.config.n_layers for script in SCRIPTS} == {2}


def test_sweep_repeats_no_tokens_with_a_period_of_a_power_of_two() -> None:
    first = SCRIPTS[-1].calls[0]
    assert isinstance(first, Prefill)
    prompt = first.prompt

    assert not any(prompt[: -(2**k)] == prompt[2**k :] for k in range(8))


def prompt_length(call: Call) -> int:
    assert isinstance(call, Prefill)
    return len(call.prompt)


def decoded(script: Script) -> range:
    """The positions that the first decodes write."""
    calls = script.calls[1 : script.calls.index(Reset()) - 1]
    assert all(isinstance(call, Decode) for call in calls)
    start = prompt_length(script.calls[0])
    return range(start, start + len(calls))
