"""Weights of a Llama directory that are not whole, or not ours, are refused."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from engine import FileRejected
from engine.llama import read_llama, write_llama
from tests.llamas import (
    Tensors,
    blamed,
    document,
    refused,
    store,
    store_as,
    tell,
    tensors,
    varied,
)

QUERY: Final = "model.layers.1.self_attn.q_proj.weight"
DOWN: Final = "model.layers.0.mlp.down_proj.weight"
TABLE: Final = "model.embed_tokens.weight"
HEAD: Final = "lm_head.weight"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_llama(tmp_path, varied())
    return tmp_path


def without_down(whole: Tensors) -> Tensors:
    return {name: whole[name] for name in whole if name != DOWN}


def with_bias(whole: Tensors) -> Tensors:
    return whole | {QUERY.replace("weight", "bias"): np.zeros(8)}


def turned(whole: Tensors) -> Tensors:
    return whole | {DOWN: whole[DOWN].T}


def flat(whole: Tensors) -> Tensors:
    return whole | {QUERY: whole[QUERY].reshape(-1)}


def not_finite(whole: Tensors) -> Tensors:
    return whole | {QUERY: np.where(whole[QUERY] == whole[QUERY].max(), np.inf, 1.0)}


def untied(whole: Tensors) -> Tensors:
    return whole | {HEAD: whole[TABLE] * 2}


def shorter(whole: Tensors) -> Tensors:
    return whole | {HEAD: whole[TABLE][:-1]}


# Of rows of 8 features, 3 of them in the feed-forward network.
SPOILT: Final[Mapping[Callable[[Tensors], Tensors], tuple[str, str]]] = {
    without_down: (DOWN, "is missing"),
    with_bias: (QUERY.replace("weight", "bias"), "is surplus"),
    turned: (DOWN, "has the shape (3, 8), not (8, 3)"),
    flat: (QUERY, "has the shape (64,), not (8, 8)"),
    not_finite: (QUERY, "has a value that is not finite"),
    untied: (HEAD, "is not the embedding table, must be tied to it"),
    shorter: (HEAD, "is not the embedding table, must be tied to it"),
}


@pytest.mark.parametrize("spoil", SPOILT)
def test_tensor_is_refused(spoil: Callable[[Tensors], Tensors], folder: Path) -> None:
    store(folder, spoil(tensors(folder)))
    refusal = refused(folder)
    part, reason = SPOILT[spoil]

    assert blamed(refusal) == ("model.safetensors", part)
    assert refusal.reason == reason


def test_number_that_float32_would_round_is_refused(folder: Path) -> None:
    whole = {name: each.astype(np.float32) for name, each in tensors(folder).items()}
    store(folder, whole | {DOWN: tensors(folder)[DOWN]})

    assert read_llama(folder).config.dtype == "float64"
    with pytest.raises(FileRejected) as refusal:
        read_llama(folder, dtype="float32")
    assert blamed(refusal.value) == ("model.safetensors", DOWN)


def test_quantized_numbers_are_refused(folder: Path) -> None:
    whole = {name: each.astype(np.int8) for name, each in tensors(folder).items()}
    store_as("I8", folder, whole)
    refusal = refused(folder)

    assert refusal.reason == (
        "has the dtype I8, must be one of ['BF16', 'F16', 'F32', 'F64']"
    )


def test_head_of_more_axes_than_numpy_has_is_refused(folder: Path) -> None:
    whole = tensors(folder)
    whole[HEAD] = whole[TABLE]
    store_as("F64", folder, whole, {HEAD: [1] * 70 + list(whole[TABLE].shape)})

    assert blamed(refused(folder)) == ("model.safetensors", HEAD)


def test_blocks_without_end_are_refused_at_the_first_that_is_missing(
    folder: Path,
) -> None:
    tell(folder, document(folder) | {"num_hidden_layers": 10**12})

    assert blamed(refused(folder)) == (
        "model.safetensors",
        "model.layers.2.input_layernorm.weight",
    )


def test_weights_cut_short_are_refused(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])

    assert blamed(refused(folder)) == ("model.safetensors", "container")


def test_weights_in_several_files_are_refused(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    (folder / "model.safetensors.index.json").touch()
    refusal = refused(folder)

    assert refusal.part == "model.safetensors.index.json"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_file_that_is_missing_cannot_be_read(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        read_llama(folder)
