"""GGUF of the ``llama`` architecture, read through the package ``gguf``.

Its query and key rows are in the order that rotates neighbours, as ours are. Quantized
tensors are taken as the float32 numbers that ``gguf`` makes of them.
"""

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from engine.arrays import Array, DType
from engine.assembly import Dialect, Stored, assembled, changed, configured
from engine.config import DecoderConfig
from engine.container import reject
from engine.decoder import Decoder
from engine.extras import extra
from engine.files import _open_at_once, _require_regular, exact_path

if TYPE_CHECKING:
    from gguf import GGUFReader

_ARCHITECTURE: Final = "llama"
_DIALECT: Final = Dialect(
    embedding="token_embd.weight",
    blocks="blk",
    parts={
        "attention_norm.gain": "attn_norm.weight",
        "attention.query.weight": "attn_q.weight",
        "attention.key.weight": "attn_k.weight",
        "attention.value.weight": "attn_v.weight",
        "attention.output.weight": "attn_output.weight",
        "ffn_norm.gain": "ffn_norm.weight",
        "ffn.gate.weight": "ffn_gate.weight",
        "ffn.up.weight": "ffn_up.weight",
        "ffn.down.weight": "ffn_down.weight",
    },
    final_norm="output_norm.weight",
    head="output.weight",
    rotates_halves=False,
)
_SIZES: Final = {
    "d_model": "llama.embedding_length",
    "n_heads": "llama.attention.head_count",
    "n_kv_heads": "llama.attention.head_count_kv",
    "d_ff": "llama.feed_forward_length",
    "n_layers": "llama.block_count",
    "capacity": "llama.context_length",
    "rope_base": "llama.rope.freq_base",
    "rms_epsilon": "llama.attention.layer_norm_rms_epsilon",
}
_DEFAULTS: Final[Mapping[str, object]] = {
    "llama.rope.freq_base": 10_000.0
}  # of those that do not tell it
_HEAD_DIMS: Final = (
    "llama.rope.dimension_count",
    "llama.attention.key_length",
    "llama.attention.value_length",
)
_VOCAB_SIZE: Final = "llama.vocab_size"
# What the package raises where a file is not as it should be.
_BROKEN: Final = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError)


class Gguf(NamedTuple):
    """What a file holds: its metadata by key, its tensors by name."""

    path: str
    metadata: Mapping[str, object]
    tensors: dict[str, Stored]


def read_gguf(
    path: str | os.PathLike[str],
    capacity: int | None = None,
    dtype: DType | None = None,
) -> Decoder:
    """The decoder of a file.

    Args:
        path: one GGUF file
        capacity: of the decoder's caches; if not told, what the model was made for,
            which can be far more than is needed
        dtype: if not told, ``float64`` where a tensor is F64 and ``float32`` elsewhere,
            which rounds nothing

    Raises:
        FileRejected: the file is not whole, or asks for what is not supported; or the
            package ``gguf`` is not installed.
        InvalidConfig: the capacity or the dtype is out of its domain.
        TypeError: the path is none.
        OSError: the file cannot be read.
    """
    return decoder_of(opened_gguf(path), capacity, dtype)


def opened_gguf(path: str | os.PathLike[str]) -> Gguf:
    """A file's metadata and tensors; the numbers are read later.

    Raises:
        FileRejected: the file is not whole, or there is no package ``gguf``.
        OSError: the file cannot be read.
    """
    given = exact_path(path)
    package = extra(given, "gguf")
    with open(given, "rb", opener=_open_at_once) as file:
        _require_regular(given, os.fstat(file.fileno()))
        try:
            reader = _strict(package.GGUFReader)(file)
            metadata = {key: each.contents() for key, each in reader.fields.items()}
        except _BROKEN as error:
            reject(given, "container", f"is no whole GGUF: {error}", error)
    if reader.byte_order != "I":  # the package would read the numbers as they lie
        reject(given, "container", "has the other byte order than this machine")
    tensors = {
        each.name: Stored(
            kind=each.tensor_type.name,
            shape=tuple(each.shape.tolist()[::-1]),
            read=partial(_exact, given, each.name, each.data, each.tensor_type),
        )
        for each in reader.tensors
    }
    return Gguf(given, metadata, tensors)


def decoder_of(gguf: Gguf, capacity: int | None, dtype: DType | None) -> Decoder:
    """The decoder of an opened file; its tensors are taken out.

    Raises:
        FileRejected: the file asks for what is not supported.
        InvalidConfig: the capacity or the dtype is out of its domain.
    """
    config = changed(_config(gguf), capacity, dtype)
    return assembled(gguf.path, config, _DIALECT, gguf.tensors)


def _config(gguf: Gguf) -> DecoderConfig:
    path, told = gguf.path, {**_DEFAULTS, **gguf.metadata}
    architecture = told.get("general.architecture")
    if architecture != _ARCHITECTURE:
        reject(path, "general.architecture", f"is {architecture!r}, must be 'llama'")
    own = {key for key in told if key.startswith(f"{_ARCHITECTURE}.")}
    for key in sorted(own - {*_SIZES.values(), *_HEAD_DIMS, _VOCAB_SIZE}):
        reject(path, key, "is an option that is not supported")
    told.setdefault(_SIZES["n_kv_heads"], told.get(_SIZES["n_heads"]))
    for key in _SIZES.values():
        if key not in told:
            reject(path, key, "is missing")
    table = gguf.tensors.get(_DIALECT.embedding)
    if table is None:
        reject(path, _DIALECT.embedding, "is missing")
    sizes = {field: told[key] for field, key in _SIZES.items()}
    sizes["vocab_size"] = table.shape[0]
    config = configured(path, "metadata", sizes, gguf.tensors.values())
    for key, expected in (
        (_VOCAB_SIZE, config.vocab_size),
        *((each, config.head_dim) for each in _HEAD_DIMS),
    ):
        if told.get(key, expected) != expected:
            reject(path, key, f"is {told[key]!r}, must be {expected}")
    return config


def _strict(reader: "type[GGUFReader]") -> "type[GGUFReader]":
    """The package's reader, but nothing lies beyond the end of a file.

    The package takes it for empty, and would read an array that announces 2^60 numbers
    for ever.
    """

    def get(
        self: object,
        offset: int,
        dtype: type,
        count: int = 1,
        override_order: str | None = None,
    ) -> Array:
        found: Array = reader._get(self, offset, dtype, count, override_order)
        if len(found) < count:
            raise ValueError("it ends too early")
        return found

    return type("Strict", (reader,), {"_get": get})


def _exact(path: str, name: str, data: Array, kind: object) -> Array:
    """The values of a tensor as the package makes them."""
    if data.dtype == np.float64:
        return data
    quants = extra(path, "gguf.quants")
    try:
        values: Array = quants.dequantize(data, kind)
    except NotImplementedError as error:
        reject(path, name, str(error), error)
    return values
