"""Weights with which one number overflows, vanishes or is huge, whatever else is not.

A few of each kind, far from every edge; ``scaled`` has the edges.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, get_args

import numpy as np

from engine.arrays import DType
from properties.calls import Call, Close, Decode, Prefill, Train
from properties.cells import WEIGHTS
from properties.requests import CONFIG
from properties.script import Script

_LOSS: Final = Train(tokens=(0, 1), targets=(1, 2))
_TABLE, _GAIN = "token_embedding.weight", "final_norm.gain"
_BLOCK: Final = "blocks.1"
_ORDINARY: Final = (1e-6,)
_ALL_EPSILONS: Final = 1e-6, 0.0, 1e-46  # the last one is 0 as a float32
_QUERY, _KEY = f"{_BLOCK}.attention.query.weight", f"{_BLOCK}.attention.key.weight"
_VALUE, _OUTPUT = (f"{_BLOCK}.attention.{each}.weight" for each in ("value", "output"))
_GATE, _UP = f"{_BLOCK}.ffn.gate.weight", f"{_BLOCK}.ffn.up.weight"
_FACTORS: Final[Sequence[tuple[Mapping[str, float], Sequence[float]]]] = (
    ({_TABLE: 0.0}, _ALL_EPSILONS),  # rows without energy
    ({_TABLE: -0.55}, _ALL_EPSILONS),  # squares that vanish
    ({_TABLE: -0.4, _GAIN: 0.45}, _ALL_EPSILONS),
    ({_TABLE: 0.51}, _ORDINARY),  # an energy that overflows
    ({_TABLE: 0.45, _GAIN: 0.2}, _ORDINARY),  # huge logits
    ({_TABLE: 0.1, _GAIN: 0.999}, _ORDINARY),  # logits that overflow
    ({_QUERY: 0.6, _KEY: 0.6}, _ORDINARY),
    ({_QUERY: 0.5, _KEY: 0.45}, _ORDINARY),  # huge scores
    ({_GATE: 0.6, _UP: 0.6}, _ORDINARY),
    ({_VALUE: 0.9, _OUTPUT: 0.9}, _ORDINARY),
    ({f"{_BLOCK}.attention_norm.gain": 0.999, _VALUE: 0.5}, _ORDINARY),
)
"""By parameter the power of two of its factor, as a share of the dtype's largest."""


def extreme_sweep() -> Iterator[Script]:
    """Each of them: a session, and a loss."""
    calls: tuple[Call, ...] = Prefill(prompt=(0, 1)), Decode(token_id=2), Close(), _LOSS
    for dtype, (factors, epsilons) in product(get_args(DType), _FACTORS):
        exponents = math.log2(np.finfo(dtype).max)
        powers = tuple(
            (name, 2.0 ** int(share * exponents) if share else 0.0)
            for name, share in factors.items()
        )
        weights = WEIGHTS.model_copy(update={"factors": powers})
        for epsilon in epsilons:
            config = replace(CONFIG, dtype=dtype, rms_epsilon=epsilon)
            yield Script(config=config, weights=weights, calls=calls)
