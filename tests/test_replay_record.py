"""A replay tells every stage's values of all positions, once each and for good."""

from dataclasses import replace
from typing import Final, get_args

import numpy as np
import pytest

from engine import DecoderConfig, Stage
from engine.arrays import DType
from engine.stages import Place, row_places
from properties.replayed import Replayed
from reference import replay
from reference.replay import Real, Reals
from tests.models import GROUPED, NO_BLOCKS, TINY, decoder_of
from tests.probed import recorded_by_probe

TOKENS: Final = (2, 0, 1)
CONFIGS: Final = {
    "tiny": TINY,
    "grouped": GROUPED,
    "wide": replace(GROUPED, d_model=16, n_heads=2, n_kv_heads=1, vocab_size=7),
    "no blocks": NO_BLOCKS,
}
each_config: Final = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def told(
    config: DecoderConfig, dtype: type[Real] | None = None
) -> list[tuple[Place, Reals, bytes]]:
    """Places, values and their bytes when they were told."""
    calls = list[tuple[Place, Reals, bytes]]()
    replay(
        config,
        decoder_of(config).weights,
        TOKENS,
        dtype,
        lambda place, value: calls.append((place, value, value.tobytes())),
    )
    return calls


def shape_at(config: DecoderConfig, stage: Stage) -> tuple[int, ...]:
    n_tokens, square = len(TOKENS), (len(TOKENS), len(TOKENS))
    n_heads, n_kv_heads, head_dim = config.n_heads, config.n_kv_heads, config.head_dim
    others = {
        Stage.KEY: (n_tokens, config.kv_width),
        Stage.VALUE: (n_tokens, config.kv_width),
        Stage.QUERY_ROTATION: (n_heads, n_tokens, head_dim),
        Stage.KEY_ROTATION: (n_kv_heads, n_tokens, head_dim),
        Stage.SCORES: (n_heads, *square),
        Stage.WEIGHTS: (n_heads, *square),
        Stage.MIXTURE: (n_heads, n_tokens, head_dim),
        Stage.GATE: (n_tokens, config.d_ff),
        Stage.UP: (n_tokens, config.d_ff),
        Stage.PRODUCT: (n_tokens, config.d_ff),
        Stage.LOGITS: (n_tokens, config.vocab_size),
    }
    return others.get(stage, (n_tokens, config.d_model))


@each_config
def test_every_place_is_told_once_in_the_order_of_a_row(config: DecoderConfig) -> None:
    places = [place for place, _, _ in told(config)]

    assert tuple(places) == row_places(config.n_layers)


@each_config
@pytest.mark.parametrize("dtype", [None, np.float32, np.longdouble])
def test_shapes_and_dtype_are_as_said(
    config: DecoderConfig, dtype: type[Real] | None
) -> None:
    for (stage, _), value, _ in told(config, dtype):
        assert value.shape == shape_at(config, stage)
        assert value.dtype == (dtype or np.float64)


@each_config
def test_what_was_told_does_not_change_later(config: DecoderConfig) -> None:
    for place, value, bits in told(config):
        assert value.tobytes() == bits, place


@each_config
def test_masked_scores_and_weights_are_zero(config: DecoderConfig) -> None:
    masked = ~np.tri(len(TOKENS), dtype=bool)
    for (stage, _), value, _ in told(config):
        if stage in {Stage.SCORES, Stage.WEIGHTS}:
            assert not value[:, masked].any()
            assert value[:, ~masked].all()


@each_config
def test_what_is_told_is_what_is_returned(config: DecoderConfig) -> None:
    recorded = {place: value for place, value, _ in told(config)}
    whole = replay(config, decoder_of(config).weights, TOKENS)

    np.testing.assert_array_equal(recorded[Stage.LOGITS, None], whole.logits)
    for layer, (keys, values) in enumerate(zip(whole.keys, whole.values, strict=True)):
        np.testing.assert_array_equal(recorded[Stage.KEY_ROTATION, layer], keys)
        by_token = np.concatenate(values, axis=1)
        np.testing.assert_array_equal(recorded[Stage.VALUE, layer], by_token)


@each_config
@pytest.mark.parametrize("dtype", get_args(DType))
def test_values_are_those_that_a_probe_sees(
    config: DecoderConfig, dtype: DType
) -> None:
    config = replace(config, dtype=dtype)
    weights = decoder_of(config).weights
    prefix = Replayed.of(config, weights, TOKENS)
    seen = recorded_by_probe(config, weights, TOKENS)

    assert tuple(seen) == tuple(prefix.recorded) == row_places(config.n_layers)
    for place, due in prefix.recorded.items():
        distance = np.abs(seen[place] - due)
        assert (distance <= 2 * prefix.bounds.at[place]).all(), place
