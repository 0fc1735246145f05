"""``config.json`` of a Hugging Face Llama: which sizes it tells, what it must not ask.

What is not supported is refused by name, and so is an option that is not known here: it
might change the arithmetic. ``null`` is what transformers takes it for: not told.
"""

import json
from collections.abc import Iterable
from typing import Final, TypeAlias

from engine.assembly import Stored, configured
from engine.config import DecoderConfig
from engine.container import reject
from engine.files import read_file

Document: TypeAlias = dict[str, object]

_SIZES: Final = {
    "vocab_size": "vocab_size",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "d_ff": "intermediate_size",
    "n_layers": "num_hidden_layers",
    "capacity": "max_position_embeddings",
    "rope_base": "rope_theta",
    "rms_epsilon": "rms_norm_eps",
}
_MUST_BE: Final[Document] = {
    "model_type": "llama",
    "tie_word_embeddings": True,
}
_MUST_BE_IF_TOLD: Final[Document] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
}
_MAY_BE: Final[Document] = {
    "rope_interleaved": False,  # as it is for transformers, which does not know it
}
_ROPE_PARTS: Final = ("rope_scaling", "rope_parameters")
_OLDEST_ROPE_BASE: Final = 10_000.0  # of the first Llamas, whose files do not tell it

# Training, bookkeeping, and how transformers computes or answers: not what.
_NEUTRAL: Final = frozenset(
    (
        "_name_or_path",
        "attention_dropout",
        "bos_token_id",
        "chunk_size_feed_forward",
        "dtype",
        "eos_token_id",
        "id2label",
        "initializer_range",
        "is_llama_config",
        "label2id",
        "output_attentions",
        "output_hidden_states",
        "pad_token_id",
        "pretraining_tp",
        "return_dict",
        "torch_dtype",
        "transformers.js_config",
        "transformers_version",
        "unk_token_id",
        "use_cache",
    )
)


def read_document(path: str) -> Document:
    """What ``config.json`` tells.

    Raises:
        FileRejected: it is no JSON object.
        OSError: it cannot be read.
    """
    try:
        document: object = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        reject(path, "config", f"is no JSON: {error}", error)
    if not isinstance(document, dict):
        reject(path, "config", "is no JSON object")
    return {key: value for key, value in document.items() if value is not None}


def config_of(
    path: str, document: Document, tensors: Iterable[Stored]
) -> DecoderConfig:
    """The configuration that a document and the kinds of its tensors describe.

    Raises:
        FileRejected: there is no such decoder, or an option is missing, not supported
            or not known.
    """
    told = dict(document)
    for key, expected in (_MUST_BE | _MUST_BE_IF_TOLD).items():
        if key in _MUST_BE and key not in told:
            reject(path, key, f"is missing, must be {expected!r}")
        if (given := told.pop(key, expected)) != expected:
            reject(path, key, f"is {given!r}, must be {expected!r}")
    for key, harmless in _MAY_BE.items():
        if told.get(key) is harmless:
            del told[key]
    told["rope_theta"] = _rope_base(path, told)
    told.setdefault("num_key_value_heads", told.get("num_attention_heads"))
    head_dim = told.pop("head_dim", None)
    for key in _SIZES.values():
        if key not in told:
            reject(path, key, "is missing")
    sizes = {field: told.pop(key) for field, key in _SIZES.items()}
    for key in sorted(told.keys() - _NEUTRAL):
        reject(path, key, "is an option that is not supported")
    config = configured(path, "config", sizes, tensors)
    if head_dim not in (None, config.head_dim):
        reject(path, "head_dim", f"is {head_dim!r}, must be {config.head_dim}")
    return config


def document_of(config: DecoderConfig) -> Document:
    """What ``config.json`` tells of a decoder.

    It names no token that begins or ends a text: transformers would suppose its own.
    """
    sizes = {key: getattr(config, field) for field, key in _SIZES.items()}
    return {
        **_MUST_BE,
        **_MUST_BE_IF_TOLD,
        **sizes,
        "head_dim": config.head_dim,
        "torch_dtype": config.dtype,
        "bos_token_id": None,
        "eos_token_id": None,
    }


def _rope_base(path: str, told: Document) -> object:
    """The base, told by itself or in one of two objects; those are taken out."""
    bases = [told.pop("rope_theta")] if "rope_theta" in told else []
    for part in _ROPE_PARTS:
        rope = told.pop(part, {})
        if not isinstance(rope, dict):
            reject(path, part, f"is {rope!r}, no object")
        rope = {key: value for key, value in rope.items() if value is not None}
        for key in ("rope_type", "type"):
            if (kind := rope.pop(key, "default")) != "default":
                reject(path, f"{part}.{key}", f"is {kind!r}, must be 'default'")
        bases += [rope.pop("rope_theta")] if "rope_theta" in rope else []
        for key in sorted(rope):
            reject(path, f"{part}.{key}", "is an option that is not supported")
    if bases[1:] and bases[1:] != bases[:-1]:
        reject(path, "rope_theta", f"is told as {bases}")
    return bases[0] if bases else _OLDEST_ROPE_BASE
