"""A Hugging Face Llama directory, in and out: ``config.json``, ``model.safetensors``.

Biases, a scaled RoPE, an output projection of its own, other activations and weights in
several files are not supported, and refused by name.
"""

import json
import os
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from safetensors.numpy import save

from engine.arrays import Array, DType
from engine.assembly import Dialect, Stored, assembled, changed
from engine.container import Tensor, opened, reject
from engine.decoder import Decoder
from engine.files import exact_path, read_file, replace_file, replace_files
from engine.kinds import require_kind
from engine.llama_config import config_of, document_of, read_document

_DIALECT: Final = Dialect(
    embedding="model.embed_tokens.weight",
    blocks="model.layers",
    parts={
        "attention_norm.gain": "input_layernorm.weight",
        "attention.query.weight": "self_attn.q_proj.weight",
        "attention.key.weight": "self_attn.k_proj.weight",
        "attention.value.weight": "self_attn.v_proj.weight",
        "attention.output.weight": "self_attn.o_proj.weight",
        "ffn_norm.gain": "post_attention_layernorm.weight",
        "ffn.gate.weight": "mlp.gate_proj.weight",
        "ffn.up.weight": "mlp.up_proj.weight",
        "ffn.down.weight": "mlp.down_proj.weight",
    },
    final_norm="model.norm.weight",
    head="lm_head.weight",
    rotates_halves=True,
)
_CONFIG: Final = "config.json"
_WEIGHTS: Final = "model.safetensors"
_INDEX: Final = "model.safetensors.index.json"
_HALF: Final = "BF16"  # the upper half of a float32, which NumPy has not
_KINDS: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", _HALF: "<u2"}


def config_file(folder: str) -> str:
    """The path of a directory's configuration."""
    return str(Path(folder, _CONFIG))


def read_llama(
    path: str | os.PathLike[str],
    capacity: int | None = None,
    dtype: DType | None = None,
) -> Decoder:
    """The decoder of a directory.

    Args:
        path: a directory with ``config.json`` and ``model.safetensors``
        capacity: of the decoder's caches; if not told, what the model was made for,
            which can be far more than is needed
        dtype: if not told, ``float64`` where a tensor is F64 and ``float32`` elsewhere,
            which rounds nothing

    Raises:
        FileRejected: a file is not whole, or asks for what is not supported.
        InvalidConfig: the capacity or the dtype is out of its domain.
        TypeError: the path is none.
        OSError: a file is missing, or cannot be read.
    """
    folder = exact_path(path)
    name = config_file(folder)
    before = read_file(name)
    document = read_document(name)
    tensors = _tensors(folder)
    if read_file(name) != before:
        reject(name, "config", "was replaced while the directory was read")
    config = config_of(name, document, tensors.values())
    config = changed(config, capacity, dtype)
    return assembled(str(Path(folder, _WEIGHTS)), config, _DIALECT, tensors)


def write_llama(path: str | os.PathLike[str], decoder: Decoder) -> None:
    """Write a directory that transformers reads as the same model.

    ``read_llama`` gives back every bit, the capacity too. The directory is made if
    there is none; other files in it stay. Once both files could be written apart,
    ``config.json`` is emptied, and replaced after the weights: a write that stops in
    between leaves a directory that is refused, never the configuration of one decoder
    with the weights of another.

    Raises:
        FileRejected: the path can be of no file, or a file is no regular one; nothing
            changed.
        TypeError: an argument is of another kind; nothing changed.
        OSError: a file cannot be written; nothing changed but that the directory was
            made, or that it is refused now.
    """
    require_kind(decoder, Decoder)
    folder = exact_path(path)
    config = decoder.config
    tensors = {
        _DIALECT.name_of(name): _DIALECT.outward(name, value, config.head_dim)
        for name, value in decoder.weights.items()
    }
    content = save(tensors, {"format": "pt"})
    text = json.dumps(document_of(config), indent=2) + "\n"
    Path(folder).mkdir(exist_ok=True)
    name = config_file(folder)
    files = [(str(Path(folder, _WEIGHTS)), content), (name, text.encode())]
    replace_files(files, lambda: replace_file(name, b"{}\n"))


def _tensors(folder: str) -> dict[str, Stored]:
    path = Path(folder, _WEIGHTS)
    if not path.exists() and Path(folder, _INDEX).exists():
        reject(folder, _INDEX, "the weights are in several files, must be in one")
    _, tensors = opened(str(path), read_file(str(path)))
    for name, tensor in tensors.items():
        if tensor.dtype not in _KINDS:
            reason = f"has the dtype {tensor.dtype}, must be one of {sorted(_KINDS)}"
            reject(str(path), name, reason)
    return {
        name: Stored(tensor.dtype, tuple(tensor.shape), partial(_exact, tensor))
        for name, tensor in tensors.items()
    }


def _exact(tensor: Tensor) -> Array:
    """The values of a tensor, in the smallest of our dtypes that has them all."""
    stored = np.ndarray(tensor.shape, _KINDS[tensor.dtype], tensor.data)
    if tensor.dtype == _HALF:
        widened: Array = (stored.astype("<u4") << 16).view("<f4")
        return widened
    exact: Array = stored.astype(np.float64 if tensor.dtype == "F64" else np.float32)
    return exact
