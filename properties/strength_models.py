"""What the strength of a bound is measured on: drawn weights, and real ones."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from engine import Decoder, DecoderConfig, Parameter
from engine.arrays import DType
from engine.source import Source, opened_source
from properties.drawn import initial_weights
from properties.geometry import tokens
from properties.prefilled import N_STEPS, Model
from properties.script import Weights

MakeModel: TypeAlias = Callable[[DType, int], Model]
"""From a dtype and a seed."""

_LENGTHS: Final = range(8, 17)
_REAL_LENGTH: Final = 8
_GAIN_SPREAD: Final = 0.5

# More than five tokens, so that to be among the five best means something.
_GEOMETRIES: Final[Mapping[str, DecoderConfig]] = {
    name: DecoderConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        n_heads=n_heads,
        n_kv_heads=2,
        d_ff=d_ff,
        n_layers=n_layers,
        capacity=_LENGTHS[-1] + N_STEPS,
        rope_base=10_000.0,
        rms_epsilon=1e-6,
    )
    for name, vocab_size, d_model, n_heads, d_ff, n_layers in (
        ("tiny", 64, 16, 2, 32, 2),
        ("grouped", 64, 32, 4, 64, 3),
        ("small", 512, 128, 4, 352, 4),
    )
}

_TEXT: Final = (
    "The old lighthouse at the end of the bay was built in 1854, after two ships had "
    "been lost in a single winter. Its keeper wrote down the weather every morning and "
    "counted the boats that went out; in the evening he counted those that came back. "
    "When the two numbers were not the same, he lit a second lamp and waited."
)


def drawn_models() -> dict[str, MakeModel]:
    """Each geometry by name; a seed draws weights and prompt."""
    return {name: partial(_drawn, name) for name in _GEOMETRIES}


def real_models(weights: str) -> dict[str, MakeModel]:
    """The one model that is named; a seed chooses eight tokens of an English text.

    Args:
        weights: a directory, a file or a name, as ``engine.source`` reads it
    """
    return {Path(weights).name: partial(_real, weights)}


def _drawn(name: str, dtype: DType, seed: int) -> Model:
    config = replace(_GEOMETRIES[name], dtype=dtype)
    weights = initial_weights(config, Weights(seed=seed, gain_spread=_GAIN_SPREAD))
    parameters = [Parameter(name, value) for name, value in weights.items()]
    rng = Random(seed)  # noqa: S311 # draws a prompt, not a secret
    prompt = tokens(rng, config, rng.choice(_LENGTHS))
    return Model(name, Decoder(config, parameters), prompt)


def _real(weights: str, dtype: DType, seed: int) -> Model:
    source = _opened(weights, dtype)
    config = replace(source.decoder.config, capacity=_REAL_LENGTH + N_STEPS)
    text = source.tokenizer().token_ids(_TEXT)
    start = seed * _REAL_LENGTH % (len(text) - _REAL_LENGTH)
    prompt = tuple(text[start : start + _REAL_LENGTH])
    decoder = Decoder(config, source.decoder.parameters)
    return Model(Path(weights).name, decoder, prompt)


@lru_cache(maxsize=1)
def _opened(weights: str, dtype: DType) -> Source:
    return opened_source(weights, dtype)
