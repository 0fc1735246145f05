"""The strategies make what they promise, and reach what they are for."""

from collections.abc import Callable

import pytest
from hypothesis import find, given, settings

from engine import DecoderConfig
from properties.geometry import configs, prompts, strange_tokens, token_ids
from properties.plugin import PROFILES

ENOUGH = settings(PROFILES["default"], database=None, max_examples=2_000)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(lambda c: c.n_layers == 0, id="no-block"),
        pytest.param(lambda c: c.n_layers == 1, id="one-block"),
        pytest.param(lambda c: c.n_layers >= 2, id="blocks"),
        pytest.param(lambda c: c.n_kv_heads == 1 < c.n_heads, id="one-shared-head"),
        pytest.param(lambda c: c.n_kv_heads == c.n_heads > 1, id="no-shared-head"),
        pytest.param(
            lambda c: 1 < c.n_kv_heads < c.n_heads >= 4, id="some-shared-heads"
        ),
        pytest.param(lambda c: c.capacity == 1, id="room-for-one"),
        pytest.param(lambda c: c.capacity > 32, id="room-beyond-a-power-of-two"),
        pytest.param(lambda c: c.rms_epsilon == 0, id="no-epsilon"),
        pytest.param(lambda c: c.d_ff % 2 == 1 < c.d_ff, id="odd-width"),
    ],
)
def test_configs_reach(shape: Callable[[DecoderConfig], bool]) -> None:
    assert shape(find(configs(), shape, settings=ENOUGH))


@settings(PROFILES["default"])
@given(configs().flatmap(lambda c: prompts(c).map(lambda prompt: (c, prompt))))
def test_prompts_are_accepted(drawn: tuple[DecoderConfig, list[int]]) -> None:
    config, prompt = drawn

    assert 1 <= len(prompt) <= config.capacity
    assert all(0 <= token_id < config.vocab_size for token_id in prompt)


def test_prompts_fill_the_capacity() -> None:
    config = find(configs(), lambda c: c.capacity == 6, settings=ENOUGH)
    longest = find(prompts(config), lambda p: len(p) == 6, settings=ENOUGH)

    assert len(longest) == config.capacity


@settings(PROFILES["default"])
@given(configs().flatmap(lambda c: strange_tokens(c).map(lambda token: (c, token))))
def test_strange_tokens_are_beside_the_vocabulary(
    drawn: tuple[DecoderConfig, int],
) -> None:
    config, token_id = drawn

    assert not 0 <= token_id < config.vocab_size


def test_token_ids_reach_both_ends() -> None:
    config = find(configs(), lambda c: c.vocab_size == 7, settings=ENOUGH)
    known = token_ids(config)

    assert find(known, lambda t: t == 0, settings=ENOUGH) == 0
    assert find(known, lambda t: t == 6, settings=ENOUGH) == 6
