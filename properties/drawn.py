"""What the seeds, changes and flaws of a script stand for."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeVar

import numpy as np

from engine import Decoder, DecoderConfig, InvalidConfig, SplitMix64
from engine.arrays import Array, DType, Float
from properties.calls import Changes, Flaw, Step
from properties.script import ScriptRejected, Weights

T = TypeVar("T")

SQUARE_OVERFLOWS: Final = 0.65  # this power of the largest float
_MAX_NUMBERS: Final = 2**27


@lru_cache(maxsize=64)
def initial_weights(config: DecoderConfig, weights: Weights) -> Mapping[str, Array]:
    """Values by name, in stable order and the configuration's dtype.

    Raises:
        ScriptRejected: they or a cache would not fit into a gigabyte, one is not
            finite, or there is no such parameter.
    """
    _require_size(config)
    rng = SplitMix64(weights.seed)
    drawn = Decoder.initialize(config, rng).weights
    factors = dict(weights.factors)
    if unknown := factors.keys() - drawn.keys():
        raise ScriptRejected(f"there is no parameter {min(unknown)}")
    for name, value in drawn.items():
        wide: Array = value.astype(np.float64)
        factor = factors.get(name, 1.0)
        if value.ndim > 1:
            factor *= weights.scale
        elif weights.gain_spread:
            units = rng.units(value.size)
            wide = 1 + weights.gain_spread * (2 * units - 1)
        drawn[name] = _scaled(name, wide, factor, value.dtype)
    return MappingProxyType(drawn)


@np.errstate(over="ignore")  # what overflows is rejected
def _scaled(name: str, value: Array, factor: float, dtype: np.dtype[Float]) -> Array:
    array: Array = (factor * value).astype(dtype)
    if not np.isfinite(array).all():
        raise ScriptRejected(f"{name} has a value that is not finite")
    array.flags.writeable = False  # it is remembered, and an engine may keep it
    return array


@lru_cache(maxsize=64)
def gradients(
    step: Step, shapes: tuple[tuple[int, ...], ...], dtype: DType = "float64"
) -> tuple[Array, ...]:
    """One a parameter of these shapes, all in ± scale, but for the flaw."""
    rng, flaw = SplitMix64(step.seed), step.flaw
    made: list[Array] = [
        step.scale * (2 * rng.units(math.prod(shape)) - 1).reshape(shape)
        for shape in shapes
    ]
    if flaw is not None:
        _spoil(made, flaw, float(np.finfo(dtype).max) ** SQUARE_OVERFLOWS)
    return tuple([each.astype(dtype) for each in made])


def _spoil(made: list[Array], flaw: Flaw, large: float) -> None:
    match flaw.kind:
        case "missing":
            made.pop()
        case "surplus":
            made.append(np.zeros(1))
        case "shape":
            made[flaw.index] = np.zeros((1, 2, 3))
        case "nan":
            made[flaw.index].flat[-1] = math.nan
        case "overflow":
            made[flaw.index].flat[-1] = large
        case "duplicate" | "subset":
            pass  # is of the parameters, and these are gradients of what was chosen


def stepped(step: Step, parameters: Sequence[T]) -> list[T]:
    """The parameters that are given to the step: all of them, but for the flaw."""
    chosen, flaw = list(parameters), step.flaw
    if flaw is None:
        return chosen
    if flaw.index >= len(chosen):
        raise ScriptRejected(f"there is no parameter {flaw.index}")
    if flaw.kind == "duplicate":
        chosen.append(chosen[flaw.index])
    if flaw.kind == "subset":
        del chosen[flaw.index]
    return chosen


def other_config(config: DecoderConfig, changes: Changes) -> DecoderConfig:
    """The configuration with these fields instead of its own, valid and another."""
    try:
        other = replace(config, **changes.model_dump(exclude_none=True))
    except InvalidConfig as error:
        raise ScriptRejected(str(error)) from error
    _require_size(other)
    if repr(other) == repr(config):  # floats by their bits, as evidence has them
        raise ScriptRejected("the changes change nothing")
    return other


def rebuilt_at(indices: Sequence[int], n_parameters: int) -> frozenset[int]:
    """The indices of the parameters that are rebuilt, which must exist."""
    if max(indices, default=-1) >= n_parameters:
        raise ScriptRejected(f"there is no parameter {max(indices)}")
    return frozenset(indices)


def _require_size(config: DecoderConfig) -> None:
    cached = 2 * config.n_layers * config.capacity * config.kv_width
    block = config.d_model * (config.d_model + config.kv_width + config.d_ff)
    weights = config.vocab_size * config.d_model + config.n_layers * block
    if max(cached, weights) > _MAX_NUMBERS:
        raise ScriptRejected(f"{config} is too large to be judged")
