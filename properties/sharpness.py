"""How far the bound is from the errors that are made: safe, and how sharp.

Engine and replay compute random prefixes, and a replay in the next wider dtype tells
how far each is off. The smallest ratio of bound to error in a row of logits, keys or
values is that row's; below 1 the bound would be wrong.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from engine import Decoder, DecoderConfig, KVCache, Parameter
from engine.arrays import Array, DType
from properties.drawn import initial_weights
from properties.replayed import Replayed
from properties.rounding import Floats
from properties.script import Weights
from reference import Replay
from reference.replay import Reals

SHAPES: Final = {
    "width 16, 2 blocks": DecoderConfig(
        vocab_size=64,
        d_model=16,
        n_heads=2,
        n_kv_heads=1,
        d_ff=32,
        n_layers=2,
        capacity=4096,
        rope_base=10_000.0,
        rms_epsilon=1e-6,
    )
}
SHAPES["width 16, 12 blocks"] = replace(SHAPES["width 16, 2 blocks"], n_layers=12)
SHAPES["width 128, 4 blocks"] = DecoderConfig(
    vocab_size=512,
    d_model=128,
    n_heads=4,
    n_kv_heads=2,
    d_ff=352,
    n_layers=4,
    capacity=4096,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)


CASES: Final = (
    ("width 16, 2 blocks", 16, 60),
    ("width 16, 2 blocks", 256, 4),
    ("width 16, 2 blocks", 1024, 2),
    ("width 16, 2 blocks", 4096, 1),
    ("width 16, 12 blocks", 64, 8),
    ("width 128, 4 blocks", 64, 4),
)
"""Shape, length, and how many prefixes."""


class Sharpness(NamedTuple):
    """Ratios of bound to error, of one shape, dtype and length.

    Attributes:
        shape: a name of ``SHAPES``
        dtype: of the computation
        length: of each prefix
        engine: a ratio for every row of logits, keys and values of the engine
        replay: the same of the replay
    """

    shape: str
    dtype: DType
    length: int
    engine: Floats
    replay: Floats


def measured(shape: str, length: int, n_prefixes: int, dtype: DType) -> Sharpness:
    """Compute prefixes of random tokens on random weights, all of them other ones."""
    config = replace(SHAPES[shape], dtype=dtype, capacity=length)
    found: tuple[list[Floats], list[Floats]] = [], []
    for seed in np.random.default_rng().integers(2**63, size=n_prefixes).tolist():
        weights = initial_weights(config, Weights(seed=seed, gain_spread=0.5))
        drawn = np.random.default_rng(seed).integers(config.vocab_size, size=length)
        tokens = tuple(drawn.tolist())
        replayed = Replayed.of(config, weights, tokens)
        cached = _cached(config, weights, tokens)
        for ratios, numbers in zip(found, (cached, _of(replayed.replay)), strict=True):
            ratios.extend(_ratios(replayed, numbers))
    engine, replay = (np.concatenate(ratios) for ratios in found)
    return Sharpness(shape, dtype, length, engine, replay)


def sharpness_table(measures: Iterable[Sharpness]) -> Table:
    """The least ratio, half of the ratios, and all but a hundredth of them."""
    table = Table(title="bound divided by error", title_justify="left", box=SIMPLE_HEAD)
    for column in ("model", "dtype"):
        table.add_column(column)
    for column in ("length", "rows", "least", "median", "99 %", "least of the replay"):
        table.add_column(column, justify="right")
    for each in measures:
        least, half, most = np.quantile(each.engine, (0, 0.5, 0.99))
        ratios = (least, half, most, each.replay.min())
        counts = f"{each.length:,}", f"{len(each.engine):,}"
        shown = (f"{ratio:.1f}" for ratio in ratios)
        table.add_row(each.shape, each.dtype, *counts, *shown)
    return table


def _cached(
    config: DecoderConfig, weights: Mapping[str, Array], tokens: tuple[int, ...]
) -> Iterator[Reals]:
    """What a cache answers and holds, token by token."""
    parameters = [Parameter(*each) for each in weights.items()]
    decoder = Decoder.from_parameters(config, parameters)
    cache = KVCache(decoder)
    with cache.bind(decoder) as session:
        first = session.prefill(tokens[:1])
        others = [session.decode(token_id) for token_id in tokens[1:]]
    yield np.stack([each.logits for each in (first, *others)])
    for rows in cache.layers:
        yield from (rows.keys, rows.values)


def _of(replay: Replay) -> Iterator[Reals]:
    yield replay.logits
    for rows in zip(replay.keys, replay.values, strict=True):
        yield from rows


def _ratios(replayed: Replayed, numbers: Iterable[Reals]) -> Iterator[Floats]:
    """Of each row of numbers; a row without any error has none."""
    truth, bounds = replayed.truth, replayed.bounds
    assert truth is not None, "no wider dtype tells the truth on this machine"
    allowed = [bounds.logits]
    for layer in range(replayed.config.n_layers):
        allowed += [bounds.keys(layer), bounds.values(layer)]
    for due, bound, came in zip(_of(truth.replay), allowed, numbers, strict=True):
        error = np.asarray(np.abs(came - due), np.float64)
        shares = (error / bound).max(axis=-1)
        yield 1 / shares[shares > 0]
