"""The fallible stages of one decoder row, and what may watch them."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, TypeAlias

from engine.arrays import Array


class Stage(StrEnum):
    """A place where a computation can fail, in the order in which a row meets them."""

    EMBEDDING = "embedding"
    ATTENTION_NORM = "attention norm"
    QUERY = "query projection"
    KEY = "key projection"
    VALUE = "value projection"
    QUERY_ROTATION = "query rotation"
    KEY_ROTATION = "key rotation"
    SCORES = "scores"
    WEIGHTS = "weights"
    MIXTURE = "mixture"
    OUTPUT = "output projection"
    ATTENTION_RESIDUAL = "attention residual"
    FFN_NORM = "feed-forward norm"
    GATE = "gate"
    UP = "up"
    PRODUCT = "product"
    DOWN = "down"
    FFN_RESIDUAL = "feed-forward residual"
    FINAL_NORM = "final norm"
    LOGITS = "logits"
    COMMIT = "commit"
    LOSS = "loss"
    GRADIENT = "gradient"


_ALL: Final = tuple(Stage)

BLOCK_STAGES: Final = _ALL[
    _ALL.index(Stage.ATTENTION_NORM) : _ALL.index(Stage.FFN_RESIDUAL) + 1
]

Place: TypeAlias = tuple[Stage, int | None]
"""A stage and the block it is in, ``None`` outside blocks."""

Probe: TypeAlias = Callable[[Stage, int | None, int, Array], object]
"""Called with stage, block, position and a read-only copy of the stage's value."""


def row_places(n_layers: int) -> tuple[Place, ...]:
    """Every stage that one row passes before its commit, in order."""
    blocks = ((stage, layer) for layer in range(n_layers) for stage in BLOCK_STAGES)
    return (
        (Stage.EMBEDDING, None),
        *blocks,
        (Stage.FINAL_NORM, None),
        (Stage.LOGITS, None),
    )
