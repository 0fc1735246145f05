"""The bytes of a checkpoint, and back.

Tensors are the parameters by name, and the optimizer's moments by name behind a prefix.
What is no tensor is one JSON text under one key of the file's metadata: the library
writes several keys in random order, and equal states are to give equal bytes. Python
writes floats into JSON so that they are read back to the bit. A dtype is written where
it is not float64, so that files from before there were two are still what is written.
"""

import json
from collections.abc import Iterable
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Final, Never, TypeAlias

import numpy as np
from safetensors.numpy import save

from engine.adamw import AdamWConfig, AdamWSnapshot, Moment
from engine.arrays import Array
from engine.config import DecoderConfig, exact_float, exact_int
from engine.container import Tensor, opened, reject
from engine.decoder import Decoder, layout
from engine.errors import ConstructionError, ParameterLayout
from engine.optimizer import AdamW
from engine.parameters import Held, Parameter
from engine.splitmix import SplitMix64

FORMAT: Final = "cachehound"
VERSION: Final = 1
_PARTS: Final = ("version", "config", "optimizer", "rng")
_OPTIMIZER: Final = ("config", "step", "beta1_power", "beta2_power", "names")
_FIRST: Final = "optimizer.first_moment."
_SECOND: Final = "optimizer.second_moment."
_DTYPES: Final = {"F64": "float64", "F32": "float32"}

_Fields: TypeAlias = dict[str, object]


def serialized(
    decoder: Decoder,
    held: Iterable[Held],
    snapshot: AdamWSnapshot | None,
    rng: SplitMix64 | None,
) -> bytes:
    """The file of a state; ``held`` has the parameters' values in stable order."""
    tensors = {
        parameter.name: value.array()
        for parameter, value in zip(decoder.parameters, held, strict=True)
    }
    optimizer: _Fields | None = None
    if snapshot is not None:
        optimizer = {
            "config": asdict(snapshot.config),
            "step": snapshot.step,
            "beta1_power": snapshot.beta1_power,
            "beta2_power": snapshot.beta2_power,
            "names": [moment.name for moment in snapshot.moments],
        }
        for moment in snapshot.moments:
            first, second = moment.arrays()
            tensors[_FIRST + moment.name] = first
            tensors[_SECOND + moment.name] = second
    document = {
        "version": VERSION,
        "config": _given(decoder.config),
        "optimizer": optimizer,
        "rng": None if rng is None else rng.state,
    }
    return save(tensors, {FORMAT: json.dumps(document)})


def _given(config: DecoderConfig) -> _Fields:
    """The fields that have no default, or another value than theirs."""
    values = asdict(config)
    return {
        field.name: values[field.name]
        for field in fields(config)
        if values[field.name] != field.default
    }


def deserialized(
    path: str, content: bytes
) -> tuple[Decoder, AdamW | None, SplitMix64 | None]:
    """The state of a file.

    Args:
        path: where the file was, for the error
        content: all of its bytes

    Raises:
        FileRejected: ``serialized`` gives no such bytes; nothing was made.
    """
    reader = _Reader(path, *opened(path, content))
    document = reader.document()
    decoder = reader.decoder(document["config"])
    optimizer = reader.optimizer(document["optimizer"], decoder)
    for name in sorted(reader.tensors):
        reader.reject(name, "is surplus")
    return decoder, optimizer, reader.rng(document["rng"])


@dataclass(slots=True, eq=False)
class _Reader:
    """What is left to read of a file; every refusal names the part that is wrong."""

    path: str
    metadata: dict[str, str]
    tensors: dict[str, Tensor]

    def reject(self, part: str, reason: str, cause: Exception | None = None) -> Never:
        reject(self.path, part, reason, cause)

    def document(self) -> _Fields:
        """All that is no tensor."""
        if self.metadata.keys() != {FORMAT}:
            self.reject("format", f"the metadata has the keys {sorted(self.metadata)}")
        try:
            document: object = json.loads(self.metadata[FORMAT])
        except (ValueError, RecursionError) as error:
            self.reject("format", "the metadata is no JSON", error)
        if not isinstance(document, dict) or "version" not in document:
            self.reject("format", "the metadata has no version")
        version = document["version"]
        if repr(version) != repr(VERSION):  # True and 1.0 are no version
            self.reject("version", f"is {version!r}, this library reads {VERSION}")
        return self._fields("format", document, _PARTS)

    def decoder(self, value: object) -> Decoder:
        known = fields(DecoderConfig)
        names = [field.name for field in known if field.default is MISSING]
        optional = [field.name for field in known if field.name not in names]
        given = self._fields("config", value, names, optional)
        try:
            config = DecoderConfig(**given)  # type: ignore[arg-type] # the class judges
        except ConstructionError as error:
            self.reject("config", str(error), error)
        # Lazily: the first missing tensor ends it, however many blocks are announced.
        parameters = (
            Parameter(name, self._take(name, config.dtype))
            for name, _ in layout(config)
        )
        try:
            return Decoder(config, parameters)
        except ParameterLayout as error:
            self.reject(error.name, error.reason, error)

    def optimizer(self, value: object, decoder: Decoder) -> AdamW | None:
        if value is None:
            return None
        given = self._fields("optimizer", value, _OPTIMIZER)
        names = [field.name for field in fields(AdamWConfig)]
        constants = self._fields("optimizer", given["config"], names)
        try:
            config = AdamWConfig(**constants)  # type: ignore[arg-type] # the class judges
            step = exact_int("step", given["step"], 0)
        except ConstructionError as error:
            self.reject("optimizer", str(error), error)
        snapshot = AdamWSnapshot(
            config=config,
            step=step,
            beta1_power=self._power(given["beta1_power"], config.beta1, step),
            beta2_power=self._power(given["beta2_power"], config.beta2, step),
            moments=self._moments(given["names"], step, decoder),
        )
        return AdamW.restored(snapshot)

    def rng(self, value: object) -> SplitMix64 | None:
        if value is None:
            return None
        try:
            return SplitMix64(value)  # type: ignore[arg-type] # the class judges
        except ConstructionError as error:
            self.reject("rng", str(error), error)

    def _power(self, value: object, beta: float, step: int) -> float:
        """A running product of ``beta``: exactly 1 at first, then at most ``beta``."""
        power = exact_float(value)
        least, most = (0.0, beta) if step else (1.0, 1.0)
        if not least <= power <= most:
            reason = f"{value!r} is no product of {step} times {beta}"
            self.reject("optimizer", reason)
        return power

    def _moments(
        self, names: object, step: int, decoder: Decoder
    ) -> tuple[Moment, ...]:
        if (
            not isinstance(names, list)
            or not all(isinstance(name, str) for name in names)
            or len(set(names)) != len(names)
            or (names and not step)
        ):
            self.reject("optimizer", f"the names after {step} steps are {names!r}")
        values = {parameter.name: parameter.value for parameter in decoder.parameters}
        return tuple(self._moment(name, values.get(name)) for name in names)

    def _moment(self, name: str, value: Array | None) -> Moment:
        """The moments of one parameter; without a value, the decoder has none of it."""
        first = self._take(_FIRST + name, None if value is None else value.dtype.name)
        dtype = first.dtype.name
        second = self._take(_SECOND + name, dtype)
        expected = first.shape if value is None else value.shape
        for prefix, array in ((_FIRST, first), (_SECOND, second)):
            if array.shape != expected:
                reason = f"has the shape {array.shape}, not {expected}"
                self.reject(prefix + name, reason)
            if not np.isfinite(array).all():
                self.reject(prefix + name, "has a value that is not finite")
        if (second < 0).any():
            self.reject(_SECOND + name, "has a negative value")
        return Moment(name, expected, first.tobytes(), second.tobytes(), dtype)

    def _take(self, name: str, dtype: str | None) -> Array:
        """A tensor's array, of one dtype or of any that there is.

        The tensor is then no longer left to read.
        """
        if name not in self.tensors:
            self.reject(name, "is missing")
        tensor = self.tensors.pop(name)
        expected = [tag for tag, each in _DTYPES.items() if dtype in {None, each}]
        if tensor.dtype not in expected:
            names = " or ".join(expected)
            self.reject(name, f"has the dtype {tensor.dtype}, not {names}")
        native = np.dtype(_DTYPES[tensor.dtype])
        try:
            stored: Array = np.ndarray(
                tensor.shape, native.newbyteorder("<"), tensor.data
            )
        except ValueError as error:  # such as more than 64 dimensions
            self.reject(name, str(error), error)
        return stored.astype(native)  # the machine's own byte order

    def _fields(
        self,
        part: str,
        value: object,
        names: Iterable[str],
        optional: Iterable[str] = (),
    ) -> _Fields:
        """A JSON object with exactly these fields, and perhaps optional ones."""
        expected = sorted(names)
        if not isinstance(value, dict) or sorted({*value} - {*optional}) != expected:
            self.reject(part, f"is no object with exactly the fields {expected}")
        return value
