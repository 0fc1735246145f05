"""A Hugging Face Llama directory gives back what was written, and means the same."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from engine import DecoderConfig, FileRejected, InvalidConfig, KVCache
from engine.arrays import Array
from engine.llama import read_llama, write_llama
from tests import split_halves
from tests.llamas import (
    LLAMAS,
    WIDE,
    Stored,
    bits,
    document,
    store,
    store_as,
    tell,
    tensors,
    varied,
)
from tests.models import GROUPED, decoder_of

each_llama = pytest.mark.parametrize("config", LLAMAS.values(), ids=LLAMAS)

LONG = replace(WIDE, capacity=9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "llama"
    write_llama(folder, varied())
    return folder


@each_llama
def test_directory_gives_back_every_bit(config: DecoderConfig, tmp_path: Path) -> None:
    decoder = varied(config)
    write_llama(tmp_path / "new", decoder)
    again = read_llama(os.fspath(tmp_path / "new"))

    assert again.config == config
    assert bits(again) == bits(decoder)


def test_rotated_halves_of_the_directory_are_our_rotated_neighbours(
    tmp_path: Path,
) -> None:
    decoder = varied(LONG)
    write_llama(tmp_path, decoder)
    token_ids = [0, 1, 2, 2, 1, 0, 0, 1, 2]
    sizes = {
        key: value
        for key, value in document(tmp_path).items()
        if isinstance(value, int | float)
    }
    with KVCache(decoder).bind(decoder) as session:
        ours = [session.prefill(token_ids[:1]).logits]
        ours += [session.decode(each).logits for each in token_ids[1:]]
    theirs = split_halves.logits(sizes, tensors(tmp_path), token_ids)

    assert np.abs(np.array(ours) - theirs).max() < 1e-13


def test_directory_tells_all_that_transformers_asks(folder: Path) -> None:
    assert document(folder) == {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "bos_token_id": None,
        "eos_token_id": None,
        "head_dim": 2,
        "hidden_act": "silu",
        "hidden_size": 8,
        "intermediate_size": 3,
        "max_position_embeddings": 4,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10_000.0,
        "tie_word_embeddings": True,
        "torch_dtype": "float64",
        "vocab_size": 3,
    }
    with safe_open(folder / "model.safetensors", "numpy") as file:
        assert file.metadata() == {"format": "pt"}


def test_pipe_is_no_configuration(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    for use in (read_llama, lambda path: write_llama(path, decoder_of())):
        with pytest.raises(FileRejected, match="regular"):
            use(folder)


def test_caller_may_want_another_capacity_and_a_wider_dtype(tmp_path: Path) -> None:
    narrow = varied(replace(GROUPED, dtype="float32"))
    write_llama(tmp_path, narrow)
    wide = read_llama(tmp_path, capacity=7, dtype="float64")

    assert wide.config == replace(GROUPED, capacity=7, dtype="float64")
    for name, value in wide.weights.items():
        assert np.array_equal(value, narrow.weights[name].astype(np.float64))
    with pytest.raises(InvalidConfig, match="capacity=0"):
        read_llama(tmp_path, capacity=0)


def halves(array: Array) -> Stored:
    return array.astype("<f2")


def upper_halves(array: Array) -> Stored:
    """bfloat16, as unsigned integers of the same bits."""
    return (array.astype("<f4").view("<u4") >> 16).astype("<u2")


@pytest.mark.parametrize(("shorten", "kind"), [(halves, "F16"), (upper_halves, "BF16")])
def test_short_floats_are_read_exactly(
    shorten: Callable[[Array], Stored], kind: str, folder: Path
) -> None:
    eighths = {name: np.round(each * 8) / 8 for name, each in tensors(folder).items()}
    store(folder, eighths)
    wanted = read_llama(folder)
    short = {name: shorten(each) for name, each in eighths.items()}
    store_as(kind, folder, short)

    assert read_llama(folder).config.dtype == "float32"
    assert bits(read_llama(folder, dtype="float64")) == bits(wanted)


def test_what_need_not_be_told_is_known(folder: Path) -> None:
    told = document(folder)
    for key in ("head_dim", "hidden_act", "attention_bias", "mlp_bias", "rope_theta"):
        del told[key]
    tell(folder, told | {"rope_scaling": None, "use_cache": True})

    assert read_llama(folder).config == GROUPED


def test_old_directory_has_as_many_key_heads_as_query_heads(tmp_path: Path) -> None:
    config = replace(GROUPED, n_kv_heads=GROUPED.n_heads)
    write_llama(tmp_path, varied(config))
    told = document(tmp_path)
    del told["num_key_value_heads"]
    tell(tmp_path, told)

    assert read_llama(tmp_path).config == config


@pytest.mark.parametrize("part", ["rope_parameters", "rope_scaling"])
@pytest.mark.parametrize("kind", ["rope_type", "type"])
def test_base_may_be_told_among_parameters(part: str, kind: str, folder: Path) -> None:
    told = document(folder)
    del told["rope_theta"]
    tell(folder, told | {part: {"rope_theta": 500, kind: "default", "factor": None}})

    assert read_llama(folder).config.rope_base == 500


def test_published_directory_tells_that_its_halves_are_rotated(folder: Path) -> None:
    tell(folder, document(folder) | {"rope_interleaved": False})

    assert bits(read_llama(folder)) == bits(varied())


def test_head_that_is_the_table_is_tied(folder: Path) -> None:
    told = tensors(folder)
    store(folder, told | {"lm_head.weight": told["model.embed_tokens.weight"]})

    assert bits(read_llama(folder)) == bits(varied())
