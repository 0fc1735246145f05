"""GGUF files of small decoders, and of a tokenizer that knows a few words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import gguf
import numpy as np
import tokenizers

from engine import Decoder
from engine.arrays import Array
from tests.llamas import Stored

NAMES: Final = {
    "attention_norm.gain": "attn_norm.weight",
    "attention.query.weight": "attn_q.weight",
    "attention.key.weight": "attn_k.weight",
    "attention.value.weight": "attn_v.weight",
    "attention.output.weight": "attn_output.weight",
    "ffn_norm.gain": "ffn_norm.weight",
    "ffn.gate.weight": "ffn_gate.weight",
    "ffn.up.weight": "ffn_up.weight",
    "ffn.down.weight": "ffn_down.weight",
}


def metadata_of(decoder: Decoder) -> dict[str, object]:
    """What a file tells of a decoder."""
    config = decoder.config
    return {
        "llama.block_count": config.n_layers,
        "llama.context_length": config.capacity,
        "llama.embedding_length": config.d_model,
        "llama.feed_forward_length": config.d_ff,
        "llama.attention.head_count": config.n_heads,
        "llama.attention.head_count_kv": config.n_kv_heads,
        "llama.attention.layer_norm_rms_epsilon": config.rms_epsilon,
        "llama.rope.freq_base": config.rope_base,
        "llama.rope.dimension_count": config.head_dim,
        "llama.vocab_size": config.vocab_size,
    }


def tensors_of(decoder: Decoder) -> dict[str, Array]:
    """The tensors of a file, rows of [out, in], neighbours rotated."""
    stored: dict[str, Array] = {}
    for name, value in decoder.weights.items():
        if name == "token_embedding.weight":
            stored["token_embd.weight"] = value
        elif name == "final_norm.gain":
            stored["output_norm.weight"] = value
        else:
            _, layer, part = name.split(".", 2)
            stored[f"blk.{layer}.{NAMES[part]}"] = value.T
    return stored


def tokenizer_of(
    merges: Sequence[str] = (), told: Mapping[str, object] = MappingProxyType({})
) -> dict[str, object]:
    """What a file tells of a tokenizer: all bytes, what is merged, and two tokens more.

    ``<s>`` is the control token that ends a text, ``<u>`` one of the user's.
    """
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    words = [*alphabet, *(merge.replace(" ", "") for merge in merges)]
    whole: dict[str, object] = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": [*words, "<s>", "<u>"],
        "token_type": [1] * len(words) + [3, 4],
        "merges": list(merges),
        "eos_token_id": len(words),
    }
    return {f"tokenizer.ggml.{key}": each for key, each in {**whole, **told}.items()}


def write_gguf(
    path: Path,
    metadata: Mapping[str, object],
    tensors: Mapping[str, Stored],
    kind: "gguf.GGMLQuantizationType | None" = None,
    **how: object,
) -> None:
    """Write a file; matrices are quantized if a kind is given."""
    writer = gguf.GGUFWriter(path, "llama", **how)
    for key, value in metadata.items():
        _add(writer, key, value)
    for name, array in tensors.items():
        whole = np.ascontiguousarray(array)
        if kind is None or whole.ndim == 1:
            writer.add_tensor(name, whole)
        else:
            quantized = gguf.quants.quantize(whole, kind)
            writer.add_tensor(name, quantized, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add(writer: "gguf.GGUFWriter", key: str, value: object) -> None:
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float64(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)
