"""What is no whole GGUF file, or none of ours, is refused by name."""

import os
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import gguf
import numpy as np
import pytest

from engine import FileRejected
from engine.gguf_file import read_gguf
from tests.ggufs import metadata_of, tensors_of, write_gguf
from tests.llamas import varied

ARRAY, INTEGER = gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.UINT32
DOWN: Final = "blk.0.ffn_down.weight"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def refused(path: Path) -> FileRejected:
    with pytest.raises(FileRejected) as refusal:
        read_gguf(path)
    assert refusal.value.path == os.fspath(path)
    return refusal.value


OPTIONS: Final[Mapping[str, tuple[object, str]]] = {
    "llama.attention.key_length": (4, "is 4, must be 2"),
    "llama.attention.value_length": (4, "is 4, must be 2"),
    "llama.expert_count": (8, "is an option that is not supported"),
    "llama.rope.dimension_count": (1, "is 1, must be 2"),
    "llama.rope.scaling.type": ("linear", "is an option that is not supported"),
    "llama.vocab_size": (4, "is 4, must be 3"),
}


@pytest.mark.parametrize("key", OPTIONS)
def test_option_is_refused(key: str, path: Path) -> None:
    value, reason = OPTIONS[key]
    write_gguf(path, metadata_of(varied()) | {key: value}, tensors_of(varied()))
    refusal = refused(path)

    assert (refusal.part, refusal.reason) == (key, reason)


@pytest.mark.parametrize(
    "key",
    [
        "llama.attention.head_count",
        "llama.attention.layer_norm_rms_epsilon",
        "llama.block_count",
        "llama.context_length",
        "llama.embedding_length",
        "llama.feed_forward_length",
    ],
)
def test_option_that_is_missing_is_refused(key: str, path: Path) -> None:
    told = metadata_of(varied())
    del told[key]
    write_gguf(path, told, tensors_of(varied()))
    refusal = refused(path)

    assert (refusal.part, refusal.reason) == (key, "is missing")


def test_heads_that_differ_from_block_to_block_are_refused(path: Path) -> None:
    told = metadata_of(varied()) | {"llama.attention.head_count": [4, 4]}
    write_gguf(path, told, tensors_of(varied()))
    refusal = refused(path)

    assert refusal.part == "metadata"
    assert refusal.reason.startswith("n_heads=[4, 4]: must be an integer")


def test_other_architecture_is_refused(path: Path) -> None:
    writer = gguf.GGUFWriter(path, "gemma")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    assert refused(path).part == "general.architecture"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("blk.0.attn_q.bias", "is surplus"),
        ("rope_freqs.weight", "is surplus"),
        ("output.weight", "is not the embedding table, must be tied to it"),
        (DOWN, "has the shape (8,), not (8, 3)"),
    ],
)
def test_tensor_is_refused(name: str, reason: str, path: Path) -> None:
    tensors = tensors_of(varied()) | {name: np.ones(8)}
    write_gguf(path, metadata_of(varied()), tensors)
    refusal = refused(path)

    assert (refusal.part, refusal.reason) == (name, reason)


@pytest.mark.parametrize("name", ["token_embd.weight", DOWN, "output_norm.weight"])
def test_tensor_that_is_missing_is_refused(name: str, path: Path) -> None:
    tensors = tensors_of(varied())
    del tensors[name]
    write_gguf(path, metadata_of(varied()), tensors)
    refusal = refused(path)

    assert (refusal.part, refusal.reason) == (name, "is missing")


def test_number_that_is_not_finite_is_refused(path: Path) -> None:
    tensors = tensors_of(varied())
    tensors[DOWN] = np.full(tensors[DOWN].shape, np.inf)
    write_gguf(path, metadata_of(varied()), tensors)
    refusal = refused(path)

    assert (refusal.part, refusal.reason) == (DOWN, "has a value that is not finite")


def test_number_that_float32_would_round_is_refused(path: Path) -> None:
    write_gguf(path, metadata_of(varied()), tensors_of(varied()))
    with pytest.raises(FileRejected, match="float32 would round"):
        read_gguf(path, dtype="float32")


def test_kind_that_the_package_cannot_read_is_refused(path: Path) -> None:
    tensors = {
        name: each.astype(np.int32) for name, each in tensors_of(varied()).items()
    }
    write_gguf(path, metadata_of(varied()), tensors)
    refusal = refused(path)

    assert refusal.part == "token_embd.weight"
    assert "I32" in refusal.reason


def test_other_byte_order_is_refused(path: Path) -> None:
    write_gguf(
        path,
        metadata_of(varied()),
        tensors_of(varied()),
        endianess=gguf.GGUFEndian.BIG,
    )

    assert "byte order" in refused(path).reason


def test_file_cut_short_is_refused(path: Path) -> None:
    write_gguf(path, metadata_of(varied()), tensors_of(varied()))
    content = path.read_bytes()
    for size in range(0, len(content), 97):
        path.write_bytes(content[:size])

        assert refused(path).part == "container"


def with_array(*lengths: int) -> bytes:
    """A file of one array of arrays of arrays, and so on, that ends too early."""
    numbers = struct.pack("<4sIQQQ1sI", b"GGUF", 3, 0, 1, 1, b"a", ARRAY)
    inner = (struct.pack("<IQ", ARRAY, length) for length in lengths[:-1])
    return b"".join((numbers, *inner, struct.pack("<IQ", INTEGER, lengths[-1])))


def test_array_longer_than_the_file_is_not_waited_for(path: Path) -> None:
    path.write_bytes(with_array(2**60))

    assert refused(path).part == "container"


def test_array_deeper_than_the_stack_is_refused(path: Path) -> None:
    path.write_bytes(with_array(*[1] * 10_000))

    assert refused(path).part == "container"


@pytest.mark.parametrize("content", [b"", b"GGUF", b"{}", b"\0" * 99])
def test_what_is_no_gguf_is_refused(content: bytes, path: Path) -> None:
    path.write_bytes(content)

    assert refused(path).part == "container"


def test_pipe_and_missing_file_are_not_read(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_gguf(path)
    os.mkfifo(path)

    assert refused(path).part == "path"


def test_package_that_is_missing_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    refusal = refused(path)

    assert refusal.part == "gguf"
    assert "pip install 'cachehound[gguf]'" in refusal.reason
