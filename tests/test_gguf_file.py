"""A GGUF file of the ``llama`` architecture is read to the bit."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import gguf
import numpy as np
import pytest

from engine import DecoderConfig, InvalidConfig
from engine.gguf_file import read_gguf
from tests.ggufs import metadata_of, tensors_of, write_gguf
from tests.llamas import LLAMAS, bits, varied
from tests.models import GROUPED

# Whole blocks of quantized numbers in a row.
QUANTIZED: Final = replace(GROUPED, d_model=64, d_ff=32, dtype="float32")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


@pytest.mark.parametrize("config", LLAMAS.values(), ids=LLAMAS)
def test_file_gives_every_bit(config: DecoderConfig, path: Path) -> None:
    decoder = varied(config)
    write_gguf(path, metadata_of(decoder), tensors_of(decoder))
    read = read_gguf(path)

    assert read.config == config
    assert bits(read) == bits(decoder)


def test_caller_may_want_another_capacity_and_a_wider_dtype(path: Path) -> None:
    narrow = varied(QUANTIZED)
    write_gguf(path, metadata_of(narrow), tensors_of(narrow))
    wide = read_gguf(path, capacity=7, dtype="float64")

    assert wide.config == replace(QUANTIZED, capacity=7, dtype="float64")
    for name, value in wide.weights.items():
        assert np.array_equal(value, narrow.weights[name].astype(np.float64))
    with pytest.raises(InvalidConfig, match="capacity=0"):
        read_gguf(path, capacity=0)


@pytest.mark.parametrize("kind", ["Q4_1", "Q8_0", "F16", "BF16"])
def test_quantized_numbers_are_those_of_the_package(kind: str, path: Path) -> None:
    decoder, quantization = varied(QUANTIZED), gguf.GGMLQuantizationType[kind]
    write_gguf(path, metadata_of(decoder), tensors_of(decoder), quantization)
    read = read_gguf(path).weights
    name = "blocks.1.attention.key.weight"
    stored = gguf.quants.quantize(
        np.ascontiguousarray(decoder.weights[name].T), quantization
    )

    assert np.array_equal(read[name].T, gguf.quants.dequantize(stored, quantization))
    assert np.array_equal(read["final_norm.gain"], decoder.weights["final_norm.gain"])


def test_what_need_not_be_told_is_known(path: Path) -> None:
    decoder = varied(replace(GROUPED, n_kv_heads=4))
    told = metadata_of(decoder)
    for key in (
        "llama.attention.head_count_kv",
        "llama.rope.freq_base",
        "llama.rope.dimension_count",
        "llama.vocab_size",
    ):
        del told[key]
    write_gguf(path, told, tensors_of(decoder))

    assert read_gguf(path).config == decoder.config


def test_head_that_is_the_table_is_tied(path: Path) -> None:
    decoder = varied()
    tensors = tensors_of(decoder)
    tensors["output.weight"] = tensors["token_embd.weight"]
    write_gguf(path, metadata_of(decoder), tensors)

    assert bits(read_gguf(path)) == bits(decoder)
