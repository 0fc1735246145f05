"""Decoders without two equal parameters, and Llama directories to write and spoil."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
import pytest
import safetensors.numpy

from engine import Decoder, DecoderConfig, FileRejected
from engine.arrays import Array
from engine.llama import read_llama
from engine.parameters import Held, held_by
from tests.models import GROUPED, NO_BLOCKS, decoder_of, decoder_with

Tensors: TypeAlias = dict[str, Array]
Stored: TypeAlias = np.ndarray[tuple[int, ...]]

# Heads of two features would have one pair: it is a neighbour and a half at once.
WIDE: Final = replace(GROUPED, d_model=24)
LLAMAS: Final = {
    f"{name}, {dtype}": replace(config, dtype=dtype)
    for name, config in (
        ("grouped", WIDE),
        ("equal heads", replace(WIDE, n_kv_heads=WIDE.n_heads)),
        ("no blocks", NO_BLOCKS),
    )
    for dtype in ("float64", "float32")
}


def varied(config: DecoderConfig = GROUPED) -> Decoder:
    """Gains that differ, and numbers that a careless file would not give back."""
    weights: dict[str, Array] = {}
    for index, parameter in enumerate(decoder_of(config).parameters):
        value = parameter.value * (1 + index / 8)
        value.flat[:2] = (-0.0, 1e-40)  # which is subnormal in float32
        weights[parameter.name] = value.astype(config.dtype)
    return decoder_with(config, weights)


def bits(decoder: Decoder) -> tuple[list[str], tuple[Held, ...]]:
    """Names and values to the bit."""
    return [each.name for each in decoder.parameters], held_by(decoder.parameters)


def document(folder: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((folder / "config.json").read_bytes())
    return content


def tensors(folder: Path) -> Tensors:
    loaded: Tensors = safetensors.numpy.load_file(folder / "model.safetensors")
    return loaded


def tell(folder: Path, content: object) -> None:
    """Replace the configuration."""
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")


def store(folder: Path, content: Mapping[str, Stored]) -> None:
    """Replace the weights."""
    whole = {name: np.ascontiguousarray(array) for name, array in content.items()}
    safetensors.numpy.save_file(whole, folder / "model.safetensors")


def store_as(
    kind: str,
    folder: Path,
    content: Mapping[str, Stored],
    shapes: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> None:
    """Replace the weights by numbers, and in shapes, that NumPy has not."""
    head: dict[str, object] = {}
    data = b""
    for name, array in content.items():
        end = len(data) + array.nbytes
        offsets = [len(data), end]
        shape = shapes.get(name, array.shape)
        head[name] = {"dtype": kind, "shape": shape, "data_offsets": offsets}
        data += array.tobytes()
    told = json.dumps(head).encode()
    size = len(told).to_bytes(8, "little")
    (folder / "model.safetensors").write_bytes(size + told + data)


def refused(folder: Path) -> FileRejected:
    """How a directory is refused: in a sentence, whatever is in it."""
    with pytest.raises(FileRejected) as refusal:
        read_llama(folder)
    assert len(str(refusal.value)) < 1_000
    return refusal.value


def blamed(refusal: FileRejected) -> tuple[str, str]:
    """The name of the file, and the part."""
    return Path(refusal.path).name, refusal.part
