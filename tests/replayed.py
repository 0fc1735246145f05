"""The replayed path with the signatures of the cached one, and small models for it."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pytest

from engine import Decoder, DecoderConfig, Generation, GenerationRequest, SplitMix64
from reference import Replay, generate_by_replay, replay
from reference.replay import Real, Reals, Record, Weights

Generate: TypeAlias = Callable[
    [Decoder, list[int], GenerationRequest, SplitMix64], Generation
]


def small_config(
    n_layers: int, n_heads: int, n_kv_heads: int, rms_epsilon: float = 1e-6
) -> DecoderConfig:
    """One rotated pair a head."""
    return DecoderConfig(
        vocab_size=5,
        d_model=2 * n_heads,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_ff=3,
        n_layers=n_layers,
        capacity=4,
        rope_base=10.0,
        rms_epsilon=rms_epsilon,
    )


def initial_weights(config: DecoderConfig) -> dict[str, Reals]:
    return weights_of(Decoder.initialize(config, SplitMix64(38)))


def weights_of(decoder: Decoder) -> dict[str, Reals]:
    return {each.name: each.value for each in decoder.parameters}


def replayed_loss(
    config: DecoderConfig,
    weights: Weights,
    token_ids: Sequence[int],
    target_ids: Sequence[int],
    dtype: type[Real] = np.float64,
) -> Real:
    """The mean negative log likelihood of the targets."""
    logits = replay(config, weights, token_ids, dtype).logits
    total = dtype(0)
    for row, target_id in zip(logits, target_ids, strict=True):
        shifted = row - row.max()
        total += np.log(np.exp(shifted).sum()) - shifted[target_id]
    return total / dtype(len(target_ids))


def counted_replays(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The tokens of every replay in the engine's dtype, from now on."""
    replayed = list[tuple[int, ...]]()

    def counted(
        config: DecoderConfig,
        weights: Weights,
        tokens: tuple[int, ...],
        dtype: type[Real],
        record: Record = lambda place, value: None,  # noqa: ARG005 # nobody asks
    ) -> Replay:
        if dtype is config.float_type:
            replayed.append(tokens)
        return replay(config, weights, tokens, dtype, record)

    monkeypatch.setattr("properties.replayed.replay", counted)
    return replayed


def replayed_generation(
    decoder: Decoder, prompt: list[int], request: GenerationRequest, rng: SplitMix64
) -> Generation:
    weights = weights_of(decoder)
    return generate_by_replay(decoder.config, weights, prompt, request, rng)
