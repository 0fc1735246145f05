"""A decoder of tensors that another project named, turned and stored.

Other projects keep a matrix as [fan_out, fan_in]. Some rotate a head's two halves
against each other, feature ``i`` with feature ``i + head_dim / 2``; here neighbours
rotate. Both are the same arithmetic on query and key rows in another order.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from engine.arrays import Array, DType
from engine.config import DecoderConfig
from engine.container import reject
from engine.decoder import EMBEDDING, Decoder, layout
from engine.errors import ConstructionError, ParameterLayout
from engine.parameters import Parameter

WIDE: Final = "F64"
"""The one kind of stored number that float32 would round."""

_ROTATED: Final = ("attention.query.weight", "attention.key.weight")


class Stored(NamedTuple):
    """One tensor of a file: what it says of it, and how to get its exact values."""

    kind: str
    shape: tuple[int, ...]
    read: Callable[[], Array]


class Dialect(NamedTuple):
    """The names of another project, and whether it rotates halves.

    ``blocks`` is what precedes a block's number, ``parts`` are the names behind it, by
    our own. ``head`` is the output projection, which here is the embedding table.
    """

    embedding: str
    blocks: str
    parts: Mapping[str, str]
    final_norm: str
    head: str
    rotates_halves: bool

    def name_of(self, name: str) -> str:
        """What the other project calls one of our parameters."""
        if name == EMBEDDING:
            return self.embedding
        if not name.startswith("blocks."):
            return self.final_norm
        _, layer, part = name.split(".", 2)
        return f"{self.blocks}.{layer}.{self.parts[part]}"

    def outward(self, name: str, value: Array, head_dim: int) -> Array:
        """Our parameter as the other project stores it."""
        if not is_turned(name):
            return value
        turned = np.ascontiguousarray(value.T)
        if self.rotates_halves and name.endswith(_ROTATED):
            return _reordered(turned, (head_dim // 2, 2))
        return turned

    def inward(self, name: str, value: Array, head_dim: int) -> Array:
        """Our parameter from what the other project stores."""
        if not is_turned(name):
            return value
        if self.rotates_halves and name.endswith(_ROTATED):
            value = _reordered(value, (2, head_dim // 2))
        return value.T


def is_turned(name: str) -> bool:
    """Whether others store this parameter as its transpose."""
    return name != EMBEDDING and name.endswith(".weight")


def configured(
    path: str,
    part: str,
    fields: Mapping[str, object],
    tensors: Iterable[Stored],
) -> DecoderConfig:
    """The configuration that a file describes.

    Its dtype is float32, unless a tensor has numbers that this would round.

    Raises:
        FileRejected: there is no such decoder.
    """
    dtype = "float64" if any(each.kind == WIDE for each in tensors) else "float32"
    try:
        return DecoderConfig(**fields, dtype=dtype)  # type: ignore[arg-type] # the class judges
    except ConstructionError as error:
        reject(path, part, str(error), error)


def changed(
    config: DecoderConfig, capacity: int | None, dtype: DType | None
) -> DecoderConfig:
    """The configuration with what a caller wants otherwise.

    Raises:
        InvalidConfig: the caller's value is out of its domain.
    """
    return replace(
        config,
        capacity=config.capacity if capacity is None else capacity,
        dtype=config.dtype if dtype is None else dtype,
    )


def assembled(
    path: str, config: DecoderConfig, dialect: Dialect, tensors: dict[str, Stored]
) -> Decoder:
    """The decoder of a file; its tensors are taken out of ``tensors`` one by one.

    Raises:
        FileRejected: a tensor is missing, surplus, of another shape, not finite, or
            float32 would round it; or the output projection is one of its own.
    """

    def taken(name: str, shape: tuple[int, ...]) -> Array:
        theirs = dialect.name_of(name)
        if theirs not in tensors:
            reject(path, theirs, "is missing")
        stored = tensors.pop(theirs)
        expected = shape[::-1] if is_turned(name) else shape
        if stored.shape != expected:
            reject(path, theirs, f"has the shape {stored.shape}, not {expected}")
        if stored.kind == WIDE and config.dtype != "float64":
            reject(path, theirs, f"is {WIDE}, which {config.dtype} would round")
        value: Array = stored.read().astype(config.dtype, copy=False)
        return dialect.inward(name, value, config.head_dim)

    # Lazily: the first missing tensor ends it, however many blocks are announced.
    parameters = (Parameter(name, taken(name, shape)) for name, shape in layout(config))
    try:
        decoder = Decoder(config, parameters)
    except ParameterLayout as error:
        reject(path, dialect.name_of(error.name), error.reason, error)
    head, table = tensors.pop(dialect.head, None), decoder.parameters[0].value
    if head is not None and not (
        head.shape == table.shape and np.array_equal(head.read(), table)
    ):
        reject(path, dialect.head, "is not the embedding table, must be tied to it")
    for name in sorted(tensors):
        reject(path, name, "is surplus")
    return decoder


def _reordered(rows: Array, pairs: tuple[int, int]) -> Array:
    """The rows of every head, read as a table of ``pairs``, column by column.

    Args:
        rows: (n_heads * head_dim, d_model)
        pairs: whose product is head_dim
    """
    heads = rows.reshape(-1, *pairs, rows.shape[1])
    return heads.swapaxes(1, 2).reshape(rows.shape)
