"""Decoders of which one row overflows at one stage, for every stage.

Three tokens: ``PLAIN`` meets only zeros, ``STEEP`` the weights that overflow, and
``EVEN`` has a mean square of exactly 1. All matrices but the embedding start at 0, so
that a block leaves a row as it is.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from engine import Decoder, EngineError, NonFinite, Stage, StageFailed
from engine.arrays import Array, Numbers
from tests.models import EMBEDDING, TINY, decoder_of, decoder_with

PLAIN, STEEP, EVEN = 0, 1, 2
ROWS: Final = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
CONFIG: Final = replace(TINY, n_layers=2)

Given: TypeAlias = Mapping[str, Numbers]


def decoder(weights: Given, epsilon: float = 1e-6, n_layers: int = 2) -> Decoder:
    config = replace(CONFIG, rms_epsilon=epsilon, n_layers=n_layers)
    zeros: dict[str, Numbers] = {
        each.name: np.zeros(each.value.shape)
        for each in decoder_of(config).parameters
        if each.name.endswith("weight")
    }
    known = {
        name: value
        for name, value in weights.items()
        if name in zeros or "gain" in name
    }
    return decoder_with(config, zeros | {EMBEDDING: ROWS} | known)


def steep(*row: float) -> Array:
    """A matrix that gives a row for ``STEEP`` and zeros for ``PLAIN``."""
    return np.array([np.zeros(len(row)), row])


class Overflow(NamedTuple):
    """Weights of one block for which one stage of ``STEEP`` overflows."""

    weights: dict[str, Numbers]
    stage: Stage
    cause: NonFinite


INF: Final = np.inf
IN_A_BLOCK: Final = {
    "attention norm": Overflow(
        {"attention_norm.gain": [1.0, 1.7e308]},
        Stage.ATTENTION_NORM,
        NonFinite(1, INF),
    ),
    "query": Overflow(
        {"attention.query.weight": steep(0.0, 1.7e308)}, Stage.QUERY, NonFinite(1, INF)
    ),
    "key": Overflow(
        {"attention.key.weight": steep(-1.7e308, 0.0)}, Stage.KEY, NonFinite(0, -INF)
    ),
    "value": Overflow(
        {"attention.value.weight": steep(0.0, 1.7e308)}, Stage.VALUE, NonFinite(1, INF)
    ),
    "query rotation": Overflow(
        {"attention.query.weight": steep(1.2e308, -1.2e308)},
        Stage.QUERY_ROTATION,
        NonFinite(0, INF),
    ),
    "key rotation": Overflow(
        {"attention.key.weight": steep(1.2e308, 1.2e308)},
        Stage.KEY_ROTATION,
        NonFinite(1, INF),
    ),
    "scores": Overflow(
        {
            "attention.query.weight": steep(1e200, 0.0),
            "attention.key.weight": steep(1e200, 0.0),
        },
        Stage.SCORES,
        NonFinite(1, INF),
    ),
    "a score that softmax would swallow": Overflow(
        {
            "attention.query.weight": steep(1e200, 0.0),
            "attention.key.weight": [[-1e200, 0.0], [0.0, 0.0]],
        },
        Stage.SCORES,
        NonFinite(0, -INF),
    ),
    "output": Overflow(
        {
            "attention.value.weight": steep(1e200, 0.0),
            "attention.output.weight": [[0.0, -1e200], [0.0, 0.0]],
        },
        Stage.OUTPUT,
        NonFinite(1, -INF),
    ),
    "a mean square after attention": Overflow(
        {
            "attention.value.weight": steep(1e200, 0.0),
            "attention.output.weight": [[1.0, 0.0], [0.0, 0.0]],
        },
        Stage.FFN_NORM,
        NonFinite(0, INF),
    ),
    "feed-forward norm": Overflow(
        {"ffn_norm.gain": [1.0, -1.7e308]}, Stage.FFN_NORM, NonFinite(1, -INF)
    ),
    "gate": Overflow(
        {"ffn.gate.weight": steep(-1.7e308)}, Stage.GATE, NonFinite(0, -INF)
    ),
    "up": Overflow({"ffn.up.weight": steep(1.7e308)}, Stage.UP, NonFinite(0, INF)),
    "product": Overflow(
        {"ffn.gate.weight": steep(1e200), "ffn.up.weight": steep(1e200)},
        Stage.PRODUCT,
        NonFinite(0, INF),
    ),
    "down": Overflow(
        {
            "ffn.gate.weight": steep(1.0),
            "ffn.up.weight": steep(1e200),
            "ffn.down.weight": [[1e200, 0.0]],
        },
        Stage.DOWN,
        NonFinite(0, INF),
    ),
}
OUTSIDE: Final = {
    "a mean square that a division would swallow": Overflow(
        {EMBEDDING: [ROWS[PLAIN], [0.0, 1e200], ROWS[EVEN]]},
        Stage.ATTENTION_NORM,
        NonFinite(0, INF),
    ),
    "final norm": Overflow(
        {"final_norm.gain": [1.0, 1.7e308]}, Stage.FINAL_NORM, NonFinite(1, INF)
    ),
    "logits": Overflow(
        {
            EMBEDDING: [ROWS[PLAIN], [0.0, 1e150], ROWS[EVEN]],
            "final_norm.gain": [1.0, 1e200],
        },
        Stage.LOGITS,
        NonFinite(1, INF),
    ),
    "a mean square after the last block": Overflow(
        {
            "blocks.1.ffn.gate.weight": steep(1.0),
            "blocks.1.ffn.up.weight": steep(1e200),
            "blocks.1.ffn.down.weight": [[1.0, 0.0]],
        },
        Stage.FINAL_NORM,
        NonFinite(0, INF),
    ),
}


class Failure(NamedTuple):
    """A decoder that fails at ``STEEP`` in position 1, and how."""

    decoder: Decoder
    error: StageFailed
    cause: EngineError


def failures() -> dict[str, Failure]:
    cases = {}
    for name, (weights, stage, cause) in IN_A_BLOCK.items():
        for layer in (0, 1):
            placed = {f"blocks.{layer}.{key}": each for key, each in weights.items()}
            error = StageFailed(stage, layer)
            cases[f"{name} of block {layer}"] = Failure(decoder(placed), error, cause)
    for name, (weights, stage, cause) in OUTSIDE.items():
        layer_or_none = 0 if stage is Stage.ATTENTION_NORM else None
        error = StageFailed(stage, layer_or_none)
        cases[name] = Failure(decoder(weights), error, cause)
    return cases


FAILURES: Final = failures()
