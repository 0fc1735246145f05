"""The engine's values of every stage, in the shapes in which a replay records them."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from engine import Decoder, DecoderConfig, KVCache, Parameter, Stage
from engine.arrays import Array
from engine.stages import Place

BY_HEAD: Final = (Stage.QUERY_ROTATION, Stage.KEY_ROTATION, Stage.MIXTURE)
SQUARE: Final = (Stage.SCORES, Stage.WEIGHTS)


def recorded_by_probe(
    config: DecoderConfig, weights: Mapping[str, Array], tokens: Sequence[int]
) -> Mapping[Place, Array]:
    """Of a prompt of two tokens, and of the others one by one."""
    rows = dict[Place, list[Array]]()

    def probe(stage: Stage, layer: int | None, position: int, value: Array) -> None:
        if stage is not Stage.COMMIT:
            assert position == len(rows.setdefault((stage, layer), []))
            rows[stage, layer].append(value)

    parameters = [Parameter(*each) for each in weights.items()]
    decoder = Decoder.from_parameters(config, parameters)
    with KVCache(decoder).bind(decoder, probe=probe) as session:
        session.prefill(tokens[:2])
        for token_id in tokens[2:]:
            session.decode(token_id)
    return {
        place: _together(place[0], values, config) for place, values in rows.items()
    }


def _together(stage: Stage, rows: list[Array], config: DecoderConfig) -> Array:
    if stage in SQUARE:
        square: Array = np.zeros((config.n_heads, len(rows), len(rows)), config.dtype)
        for position, row in enumerate(rows):
            square[:, position, : position + 1] = row.reshape(config.n_heads, -1)
        return square
    if stage in BY_HEAD:
        width = config.head_dim
        return np.stack([row.reshape(-1, width) for row in rows], axis=1)
    return np.stack([row.reshape(-1) for row in rows])
