"""A Llama as transformers computes it: rows of [out, in], halves rotated."""

from collections.abc import Mapping, Sequence

import numpy as np

from engine.arrays import Array, Matrix
from tests.llamas import Tensors


def logits(
    sizes: Mapping[str, float], tensors: Tensors, token_ids: Sequence[int]
) -> Matrix:
    """(n_tokens, vocab_size), of the tensors and the sizes of a directory."""
    table = tensors["model.embed_tokens.weight"]
    x = table[list(token_ids)]
    for layer in range(int(sizes["num_hidden_layers"])):
        own = {
            name.removeprefix(f"model.layers.{layer}."): tensor
            for name, tensor in tensors.items()
        }
        normed = _norm(x, own["input_layernorm.weight"], sizes)
        x = x + _attended(normed, own, sizes)
        normed = _norm(x, own["post_attention_layernorm.weight"], sizes)
        gate = normed @ own["mlp.gate_proj.weight"].T
        up = normed @ own["mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ own["mlp.down_proj.weight"].T
    made: Matrix = _norm(x, tensors["model.norm.weight"], sizes) @ table.T
    return made


def _norm(x: Array, gain: Array, sizes: Mapping[str, float]) -> Array:
    energy = np.mean(x * x, axis=1, keepdims=True) + sizes["rms_norm_eps"]
    normed: Array = x / np.sqrt(energy) * gain
    return normed


def _attended(normed: Array, own: Tensors, sizes: Mapping[str, float]) -> Array:
    width = int(sizes["head_dim"])
    group = int(sizes["num_attention_heads"] // sizes["num_key_value_heads"])
    q, k, v = (  # (heads, n_tokens, width)
        (normed @ own[f"self_attn.{part}_proj.weight"].T)
        .reshape(len(normed), -1, width)
        .swapaxes(0, 1)
        for part in "qkv"
    )
    rotated = np.repeat(_rotated(k, sizes), group, axis=0)
    scores = _rotated(q, sizes) @ rotated.swapaxes(1, 2) / np.sqrt(width)
    scores[:, ~np.tri(len(normed), dtype=bool)] = -np.inf
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    shares /= shares.sum(axis=2, keepdims=True)
    mixed = (shares @ np.repeat(v, group, axis=0)).swapaxes(0, 1)
    attended: Array = mixed.reshape(len(normed), -1) @ own["self_attn.o_proj.weight"].T
    return attended


def _rotated(heads: Array, sizes: Mapping[str, float]) -> Array:
    half = heads.shape[2] // 2
    frequencies = sizes["rope_theta"] ** (-np.arange(half) / half)
    angles = np.outer(np.arange(heads.shape[1]), frequencies)
    cos, sin, first, second = (
        np.cos(angles),
        np.sin(angles),
        heads[..., :half],
        heads[..., half:],
    )
    rotated: Array = np.concatenate(
        (first * cos - second * sin, second * cos + first * sin), axis=2
    )
    return rotated
