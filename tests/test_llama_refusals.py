"""What a Llama directory asks for and is not supported is refused by name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from engine.llama import write_llama
from tests.llamas import (
    blamed,
    document,
    refused,
    tell,
    varied,
)

LONG: Final = "x" * 10**6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_llama(tmp_path, varied())
    return tmp_path


OPTIONS: Final[Mapping[str, tuple[object, str]]] = {
    "architectures": (["MistralForCausalLM"], "must be ['LlamaForCausalLM']"),
    "attention_bias": (True, "is True, must be False"),
    "head_dim": (4, "is 4, must be 2"),
    "hidden_act": ("gelu", "is 'gelu', must be 'silu'"),
    "mlp_bias": (True, "is True, must be False"),
    "model_type": ("mistral", "is 'mistral', must be 'llama'"),
    "partial_rotary_factor": (0.5, "is an option that is not supported"),
    "quantization_config": ({"bits": 4}, "is an option that is not supported"),
    "rope_interleaved": (True, "is an option that is not supported"),
    "rope_parameters": ("yarn", "is 'yarn', no object"),
    "sliding_window": (4096, "is an option that is not supported"),
    "tie_word_embeddings": (False, "is False, must be True"),
    LONG: (LONG, "is an option that is not supported"),
}


@pytest.mark.parametrize("key", OPTIONS, ids=lambda key: key[:30])
def test_option_is_refused(key: str, folder: Path) -> None:
    value, reason = OPTIONS[key]
    tell(folder, document(folder) | {key: value})
    refusal = refused(folder)
    name, part = blamed(refusal)

    assert name == "config.json"
    assert key.startswith(part.removesuffix("…"))
    assert reason in refusal.reason


ROPES: Final[Mapping[str, object]] = {
    "rope_scaling.type": {"type": "linear", "factor": 2.0},
    "rope_scaling.rope_type": {"rope_type": "llama3", "factor": 8.0},
    "rope_scaling.factor": {"rope_type": "default", "factor": 8.0},
    "rope_parameters.rope_type": {"rope_type": ["default"]},
    "rope_theta": {"rope_type": "default", "rope_theta": 9.0},
}


@pytest.mark.parametrize("part", ROPES)
def test_rope_of_another_kind_is_refused(part: str, folder: Path) -> None:
    key = part.partition(".")[0] if "." in part else "rope_parameters"
    tell(folder, document(folder) | {key: ROPES[part]})

    assert blamed(refused(folder)) == ("config.json", part)


@pytest.mark.parametrize(
    "key",
    [
        "hidden_size",
        "intermediate_size",
        "max_position_embeddings",
        "model_type",
        "num_attention_heads",
        "num_hidden_layers",
        "rms_norm_eps",
        "tie_word_embeddings",
        "vocab_size",
    ],
)
@pytest.mark.parametrize("is_null", [False, True])
def test_option_that_is_missing_is_refused(
    key: str, folder: Path, *, is_null: bool
) -> None:
    told = document(folder)
    if is_null:
        told[key] = None
    else:
        del told[key]
    tell(folder, told)

    assert blamed(refused(folder)) == ("config.json", key)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hidden_size": 8.0}, "d_model=8.0: must be an integer"),
        ({"num_attention_heads": 3}, "n_heads=3: must divide d_model=8"),
        ({"num_hidden_layers": -1}, "n_layers=-1: must be at least 0"),
        ({"rms_norm_eps": "1e-6"}, "rms_epsilon='1e-6': must be a finite real number"),
        ({"vocab_size": True}, "vocab_size=True: must be an integer"),
        ({"max_position_embeddings": 2**63}, "bytes, at most 2^63 - 1 fit"),
    ],
)
def test_sizes_that_make_no_decoder_are_refused(
    changes: dict[str, object], reason: str, folder: Path
) -> None:
    tell(folder, document(folder) | changes)
    refusal = refused(folder)

    assert blamed(refusal) == ("config.json", "config")
    assert reason in refusal.reason


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff\xfe", b"[" * 10**5, b'{"vocab_size": ' + b"9" * 5000],
)
def test_what_is_no_json_object_is_refused(content: bytes, folder: Path) -> None:
    (folder / "config.json").write_bytes(content)

    assert blamed(refused(folder)) == ("config.json", "config")
