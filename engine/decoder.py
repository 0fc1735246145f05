"""``Decoder``: a configuration and its parameters in their stable order."""

import math
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Self

import numpy as np

from engine.arrays import Array, DType
from engine.config import DecoderConfig
from engine.errors import ParameterLayout
from engine.errors.families import cut
from engine.kinds import require_kind
from engine.parameters import Parameter, held_by
from engine.request import HasState
from engine.splitmix import SplitMix64, state_of

EMBEDDING = "token_embedding.weight"


class Decoder:
    """A configuration, and parameters that fit it: every instance is whole.

    Two decoders may share parameters.

    Raises:
        ParameterLayout: the first index at which the parameters are not the
            configuration's, by presence, name, shape, dtype or a non-finite value.
        TypeError: the configuration is none, or nothing can be read.
    """

    __slots__ = ("_config", "_parameters")

    _config: DecoderConfig
    _parameters: tuple[Parameter, ...]

    def __new__(cls, config: DecoderConfig, parameters: Iterable[Parameter]) -> Self:
        """Make a decoder; there is no ``__init__`` that could be called once more."""
        require_kind(config, DecoderConfig)
        given = []  # read one by one: what is surplus may have no end
        slots = zip_longest(layout(config), parameters)
        for index, (slot, parameter) in enumerate(slots):
            is_one = issubclass(type(parameter), Parameter)
            name, reason = (
                (parameter.name if is_one else "", "is surplus")
                if slot is None
                else (slot[0], _misfit(slot, config.dtype, parameter))
            )
            if reason:
                raise ParameterLayout(index, name, reason)
            given.append(parameter)
        self = super().__new__(cls)
        self._config = config
        self._parameters = tuple(given)
        return self

    @classmethod
    def from_parameters(
        cls, config: DecoderConfig, parameters: Iterable[Parameter]
    ) -> Self:
        """A decoder of the very same parameter objects.

        Raises:
            ParameterLayout: as for the class; nothing was made.
        """
        return cls(config, parameters)

    @classmethod
    def initialize(cls, config: DecoderConfig, rng: HasState) -> Self:
        """A decoder of new parameters: Xavier-uniform matrices, gains of 1.

        One unit draw an element, row-major, in stable order; matrices are computed in
        binary64 and rounded once. ``rng`` advances once the whole decoder was made, and
        not before.

        Raises:
            TypeError: an argument is of another kind; nothing was made or drawn.
            MemoryError: the system refuses the space; nothing was made or drawn.

        Source:
            Glorot and Bengio 2010, equation 16.
        """
        require_kind(config, DecoderConfig)
        stream = SplitMix64(state_of(rng))
        units = stream.units(_matrix_elements(config))
        parameters = []
        start = 0
        for name, shape in layout(config):
            value: Array = np.ones(shape, config.dtype)
            if len(shape) > 1:
                end = start + math.prod(shape)
                bound = math.sqrt(6 / sum(shape))
                drawn = bound * (2 * units[start:end] - 1)
                value = drawn.reshape(shape).astype(config.dtype, copy=False)
                start = end
            parameters.append(Parameter(name, value))
        decoder = cls(config, parameters)
        rng.state = stream.state
        return decoder

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._config, self._parameters)

    def __repr__(self) -> str:
        return f"<Decoder of {self._config}>"

    @property
    def config(self) -> DecoderConfig:
        """Sizes and constants."""
        return self._config

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in stable order."""
        return self._parameters

    @property
    def weights(self) -> dict[str, Array]:
        """Read-only values by name, all of one moment, as a replay takes them."""
        names = (parameter.name for parameter in self._parameters)
        held = held_by(self._parameters)
        return {name: each.array() for name, each in zip(names, held, strict=True)}


def layout(config: DecoderConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and shape of every parameter, in the one stable order."""
    d_model, kv_width, d_ff = config.d_model, config.kv_width, config.d_ff
    yield EMBEDDING, (config.vocab_size, d_model)
    for layer in range(config.n_layers):
        block = f"blocks.{layer}"
        yield f"{block}.attention_norm.gain", (d_model,)
        yield f"{block}.attention.query.weight", (d_model, d_model)
        yield f"{block}.attention.key.weight", (d_model, kv_width)
        yield f"{block}.attention.value.weight", (d_model, kv_width)
        yield f"{block}.attention.output.weight", (d_model, d_model)
        yield f"{block}.ffn_norm.gain", (d_model,)
        yield f"{block}.ffn.gate.weight", (d_model, d_ff)
        yield f"{block}.ffn.up.weight", (d_model, d_ff)
        yield f"{block}.ffn.down.weight", (d_ff, d_model)
    yield "final_norm.gain", (d_model,)


def _matrix_elements(config: DecoderConfig) -> int:
    attention = 2 * config.d_model * (config.d_model + config.kv_width)
    block = attention + 3 * config.d_model * config.d_ff
    return config.vocab_size * config.d_model + config.n_layers * block


def _misfit(
    slot: tuple[str, tuple[int, ...]], dtype: DType, parameter: Parameter | None
) -> str:
    """Why a parameter does not fit its slot; empty if it does."""
    name, shape = slot
    if parameter is None:
        return "is missing"
    if not issubclass(type(parameter), Parameter):
        return f"is a {type(parameter).__name__}, not a Parameter"
    if parameter.name != name:
        return f"is named {cut(parameter.name)}"
    return _misfit_value(parameter.value, shape, dtype)


def _misfit_value(value: Array, shape: tuple[int, ...], dtype: DType) -> str:
    if value.shape != shape:
        return f"has the shape {value.shape}, not {shape}"
    if value.dtype != np.dtype(dtype):
        return f"has the dtype {value.dtype}, not {dtype}"
    if not np.isfinite(value).all():
        return "has a value that is not finite"
    return ""
