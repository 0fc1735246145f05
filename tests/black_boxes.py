"""A small engine of nobody's: a cache in plain NumPy, and ways to get it wrong."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import pytest

from engine import AdamWConfig, DecoderConfig
from engine.arrays import Array, Vector
from properties.subject import BlackBox, Subject

Patch: TypeAlias = Callable[[pytest.MonkeyPatch], None]

ULP: Final = 1 + 2.0**-52


class Plain:
    def __init__(self, config: DecoderConfig, weights: Mapping[str, Array]) -> None:
        self.config, self.weights = config, weights
        self.reset()

    def reset(self) -> None:
        self.position = 0
        self.blocks: list[list[tuple[Array, Array]]] = [
            [] for _ in range(self.config.n_layers)
        ]

    def prefill(self, prompt: Sequence[int]) -> Vector:
        return [self.decode(token_id) for token_id in prompt][-1]

    def decode(self, token_id: int) -> Vector:
        table = self.weights["token_embedding.weight"]
        x = table[token_id]
        for layer, held in enumerate(self.blocks):
            prefix = f"blocks.{layer}."
            own = {name.removeprefix(prefix): w for name, w in self.weights.items()}
            n = self.normed(x) * own["attention_norm.gain"]
            q, k, v = (
                (n @ own[f"attention.{name}.weight"]).reshape(-1, self.config.head_dim)
                for name in ("query", "key", "value")
            )
            held.append((self.turned(k), v))
            x = x + self.mixed(self.turned(q), held) @ own["attention.output.weight"]
            n = self.normed(x) * own["ffn_norm.gain"]
            gate = n @ own["ffn.gate.weight"]
            product = gate / (1 + np.exp(-gate)) * (n @ own["ffn.up.weight"])
            x = x + product @ own["ffn.down.weight"]
        self.position += 1
        logits: Vector = self.normed(x) * self.weights["final_norm.gain"] @ table.T
        return logits

    def mixed(self, queries: Array, held: list[tuple[Array, Array]]) -> Array:
        by_head = []
        for head, query in enumerate(queries):
            shared = head // self.config.group_size
            keys, values = (np.stack([row[i][shared] for row in held]) for i in (0, 1))
            scores = keys @ query / np.sqrt(len(query))
            shares = np.exp(scores - scores.max())
            by_head.append(shares / shares.sum() @ values)
        return np.concatenate(by_head)

    def normed(self, x: Array) -> Array:
        normed: Array = x / np.sqrt(np.mean(x * x) + self.config.rms_epsilon)
        return normed

    def turned(self, heads: Array) -> Array:
        powers = np.arange(0, self.config.head_dim, 2) / self.config.head_dim
        angles = self.position * self.config.rope_base**-powers
        turned = (heads[:, ::2] + 1j * heads[:, 1::2]) * np.exp(1j * angles)
        return np.stack([turned.real, turned.imag], axis=-1).reshape(heads.shape)


def make(
    config: DecoderConfig, weights: Mapping[str, Array], optimizer: AdamWConfig
) -> Subject:
    del optimizer
    return BlackBox(Plain(config, weights))


def keeps_its_position_in_a_reset(patch: pytest.MonkeyPatch) -> None:
    """Logits cannot see it, but where one number more rounds another way."""
    honest = Plain.reset

    def reset(engine: Plain) -> None:
        position = getattr(engine, "position", 0)
        honest(engine)
        engine.position = position

    patch.setattr(Plain, "reset", reset)


def keeps_a_row_in_a_reset(patch: pytest.MonkeyPatch) -> None:
    def reset(engine: Plain) -> None:
        engine.position = 0
        kept = getattr(engine, "blocks", engine.config.n_layers * [[]])
        engine.blocks = [rows[:1] for rows in kept]

    patch.setattr(Plain, "reset", reset)


def forgets_the_first_token(patch: pytest.MonkeyPatch) -> None:
    honest = Plain.prefill

    def prefill(engine: Plain, prompt: Sequence[int]) -> Vector:
        return honest(engine, prompt[1:] or prompt)

    patch.setattr(Plain, "prefill", prefill)


def rounds_its_logits(patch: pytest.MonkeyPatch) -> None:
    honest = Plain.decode

    def decode(engine: Plain, token_id: int) -> Vector:
        return honest(engine, token_id).astype(np.float32).astype(np.float64)

    patch.setattr(Plain, "decode", decode)


def prefills_in_another_order(patch: pytest.MonkeyPatch) -> None:
    honest = Plain.prefill

    def prefill(engine: Plain, prompt: Sequence[int]) -> Vector:
        return honest(engine, prompt) * ULP

    patch.setattr(Plain, "prefill", prefill)


def answers_another_way_each_time(patch: pytest.MonkeyPatch) -> None:
    honest, made = Plain.prefill, list[Plain]()

    def prefill(engine: Plain, prompt: Sequence[int]) -> Vector:
        made.append(engine)
        return honest(engine, prompt) * (ULP if engine is made[0] else 1)

    patch.setattr(Plain, "prefill", prefill)


def rounds_once_after_a_reset(patch: pytest.MonkeyPatch) -> None:
    honest, honest_reset, resets = Plain.prefill, Plain.reset, list[Plain]()

    def reset(engine: Plain) -> None:
        resets.append(engine)
        honest_reset(engine)

    def prefill(engine: Plain, prompt: Sequence[int]) -> Vector:
        is_first = sum(each is engine for each in resets) == 1  # that of its making
        return honest(engine, prompt) * (1 if is_first else ULP)

    patch.setattr(Plain, "reset", reset)
    patch.setattr(Plain, "prefill", prefill)
