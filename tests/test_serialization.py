"""What is no checkpoint, and which part of it is to blame."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
import safetensors.numpy

from engine.arrays import Array
from engine.checkpoint import load
from engine.errors import FileRejected
from tests.models import EMBEDDING

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Document: TypeAlias = dict[str, Json]
Tensors: TypeAlias = dict[str, Array]

KEY = "cachehound"
FIRST = f"optimizer.first_moment.{EMBEDDING}"
SECOND = f"optimizer.second_moment.{EMBEDDING}"


def _rejected(path: Path, content: bytes) -> tuple[str, str]:
    """Part and reason."""
    path.write_bytes(content)
    with pytest.raises(FileRejected) as refusal:
        load(path)
    assert refusal.value.path == os.fspath(path)
    return refusal.value.part, refusal.value.reason


def test_file_cut_short_anywhere_is_rejected(saved: Path) -> None:
    content = saved.read_bytes()
    parts = {_rejected(saved, content[:size])[0] for size in range(len(content))}

    assert parts == {"container"}


def test_file_with_more_behind_it_is_rejected(saved: Path) -> None:
    part, _ = _rejected(saved, saved.read_bytes() + b"\0")

    assert part == "container"


def test_file_of_random_bytes_is_rejected(path: Path) -> None:
    random = Random(0)  # noqa: S311 # bytes to read, not a secret
    parts = {_rejected(path, random.randbytes(size))[0] for size in range(200)}

    assert parts == {"container"}


def test_file_with_any_bit_of_its_head_flipped_loads_or_is_rejected(
    saved: Path,
) -> None:
    """A flipped bit may give another valid number; nothing else is ever raised."""
    content = saved.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    for bit in range(0, end * 8, 7):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(flipped)
        with suppress(FileRejected):
            load(saved)


def test_number_too_long_for_python_is_a_broken_container(path: Path) -> None:
    """The library skips fields that it does not know; Python's JSON reads them."""
    entry = '{"dtype":"F64","shape":[1],"data_offsets":[0,8],"more":' + "1" * 5000 + "}"
    header = f'{{"a":{entry}}}'.encode()
    part, _ = _rejected(path, len(header).to_bytes(8, "little") + header + b"\0" * 8)

    assert part == "container"


@pytest.mark.parametrize("metadata", [None, {}, {"other": "1"}, {KEY: "{}", "a": "b"}])
def test_file_of_another_format_is_rejected(
    path: Path, metadata: dict[str, str] | None
) -> None:
    content = safetensors.numpy.save({"a": np.ones(1)}, metadata)

    assert _rejected(path, content)[0] == "format"


@pytest.mark.parametrize("text", ["", "1", "[]", "{}", "nul", "[" * 10**5, "1" * 5000])
def test_file_of_another_document_is_rejected(path: Path, text: str) -> None:
    content = safetensors.numpy.save({"a": np.ones(1)}, {KEY: text})

    assert _rejected(path, content)[0] == "format"


def _set(keys: Sequence[str], value: Json) -> Callable[[Document], None]:
    def edit(document: Document) -> None:
        *outer, last = keys
        for key in outer:
            inner = document[key]
            assert isinstance(inner, dict)
            document = inner
        document[last] = value

    return edit


def _drop(name: str, inner: str) -> Callable[[Document], None]:
    def edit(document: Document) -> None:
        fields = document[name]
        assert isinstance(fields, dict)
        del fields[inner]

    return edit


_DOCUMENTS: Mapping[str, tuple[str, Callable[[Document], None]]] = {
    "version_2": ("version", _set(["version"], 2)),
    "version_text": ("version", _set(["version"], "1")),
    "version_float": ("version", _set(["version"], 1.0)),
    "version_true": ("version", _set(["version"], value=True)),
    "surplus": ("format", _set(["more"], None)),
    "config_null": ("config", _set(["config"], None)),
    "config_surplus": ("config", _set(["config", "more"], 1)),
    "config_missing": ("config", _drop("config", "d_ff")),
    "config_type": ("config", _set(["config", "d_ff"], 1.0)),
    "config_list": ("config", _set(["config", "d_ff"], [])),
    "config_value": ("config", _set(["config", "n_heads"], 3)),
    "config_nan": ("config", _set(["config", "rope_base"], float("nan"))),
    "config_layers": (
        "blocks.1.attention_norm.gain",
        _set(["config", "n_layers"], 10**15),
    ),
    "config_fewer_layers": (
        "blocks.0.attention.key.weight",
        _set(["config", "n_layers"], 0),
    ),
    "config_width": (EMBEDDING, _set(["config", "d_model"], 10**9)),
    "optimizer_type": ("optimizer", _set(["optimizer"], [])),
    "optimizer_missing": ("optimizer", _drop("optimizer", "step")),
    "optimizer_null": (FIRST.rsplit(".", 2)[0], _set(["optimizer"], None)),
    "optimizer_config": ("optimizer", _set(["optimizer", "config"], 1)),
    "optimizer_constant": ("optimizer", _set(["optimizer", "config", "beta1"], 1)),
    "optimizer_step": ("optimizer", _set(["optimizer", "step"], -1)),
    "optimizer_no_step": ("optimizer", _set(["optimizer", "step"], 0)),
    "optimizer_power_1": ("optimizer", _set(["optimizer", "beta1_power"], 1.0)),
    "optimizer_power_2": ("optimizer", _set(["optimizer", "beta2_power"], -0.1)),
    "optimizer_power_text": ("optimizer", _set(["optimizer", "beta2_power"], "0")),
    "optimizer_names": ("optimizer", _set(["optimizer", "names"], "abc")),
    "optimizer_name_type": ("optimizer", _set(["optimizer", "names"], [1])),
    "optimizer_name_list": ("optimizer", _set(["optimizer", "names"], [[]])),
    "optimizer_name_twice": ("optimizer", _set(["optimizer", "names"], ["a", "a"])),
    "optimizer_name_unknown": (
        "optimizer.first_moment.a",
        _set(["optimizer", "names"], ["a"]),
    ),
    "rng_large": ("rng", _set(["rng"], 2**64)),
    "rng_negative": ("rng", _set(["rng"], -1)),
    "rng_true": ("rng", _set(["rng"], value=True)),
    "rng_text": ("rng", _set(["rng"], "0")),
}


@pytest.mark.parametrize("case", _DOCUMENTS)
def test_malformed_document_is_rejected(saved: Path, case: str) -> None:
    part, edit = _DOCUMENTS[case]
    document, tensors = _opened(saved)
    edit(document)
    content = safetensors.numpy.save(tensors, {KEY: json.dumps(document)})

    assert _rejected(saved, content)[0].startswith(part)


def _changed(name: str, change: Callable[[Array], Array]) -> Callable[[Tensors], None]:
    def edit(tensors: Tensors) -> None:
        tensors[name] = change(tensors[name])

    return edit


def _shaped(*names: str, shape: tuple[int, ...]) -> Callable[[Tensors], None]:
    def edit(tensors: Tensors) -> None:
        for name in names:
            tensors[name] = np.ones(shape)

    return edit


def _without(name: str) -> Callable[[Tensors], None]:
    def edit(tensors: Tensors) -> None:
        del tensors[name]

    return edit


_TENSORS: Mapping[str, tuple[str, str, Callable[[Tensors], None]]] = {
    "missing": (EMBEDDING, "missing", _without(EMBEDDING)),
    "surplus": ("more", "surplus", _shaped("more", shape=(1,))),
    "dtype": (EMBEDDING, "F32", _changed(EMBEDDING, lambda each: each.astype("f4"))),
    "integers": (EMBEDDING, "I64", _changed(EMBEDDING, lambda each: each.astype("i8"))),
    "transposed": (EMBEDDING, "shape", _shaped(EMBEDDING, shape=(2, 3))),
    "empty": (EMBEDDING, "shape", _shaped(EMBEDDING, shape=(0,))),
    "infinite": (EMBEDDING, "finite", _changed(EMBEDDING, lambda each: each + np.inf)),
    "nan": (EMBEDDING, "finite", _changed(EMBEDDING, lambda each: each + np.nan)),
    "half_moment_1": (FIRST, "missing", _without(FIRST)),
    "half_moment_2": (SECOND, "missing", _without(SECOND)),
    "moment_dtype": (SECOND, "F32", _changed(SECOND, lambda each: each.astype("f4"))),
    "moment_shape": (SECOND, "shape", _shaped(SECOND, shape=(2, 3))),
    "moment_shapes": (FIRST, "shape", _shaped(FIRST, SECOND, shape=(2, 3))),
    "moment_nan": (FIRST, "finite", _changed(FIRST, lambda each: each + np.nan)),
    "moment_negative": (SECOND, "negative", _changed(SECOND, lambda each: -each)),
}


@pytest.mark.parametrize("case", _TENSORS)
def test_malformed_tensor_is_rejected(saved: Path, case: str) -> None:
    part, reason, edit = _TENSORS[case]
    document, tensors = _opened(saved)
    edit(tensors)
    content = safetensors.numpy.save(tensors, {KEY: json.dumps(document)})
    found = _rejected(saved, content)

    assert found[0] == part
    assert reason in found[1]


def test_tensor_of_too_many_dimensions_is_rejected(saved: Path) -> None:
    document, _ = _opened(saved)
    shape = [1] * 65
    header = {
        "__metadata__": {KEY: json.dumps(document)},
        EMBEDDING: {"dtype": "F64", "shape": shape, "data_offsets": [0, 8]},
    }
    head = json.dumps(header).encode()
    content = len(head).to_bytes(8, "little") + head + b"\0" * 8

    assert _rejected(saved, content)[0] == EMBEDDING


def _opened(path: Path) -> tuple[Document, Tensors]:
    """The document and the tensors of a good file."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    document: Document = json.loads(json.loads(content[8:end])["__metadata__"][KEY])
    return document, safetensors.numpy.load(content)
