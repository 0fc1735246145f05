"""Numbers of another dtype are rejected, and so is what narrow ones make of a place."""

from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from engine import KVCache, LayerRows, StepOutput
from engine.arrays import DType, Rotation, Vector
from engine.layers import frequencies
from properties.calls import Decode, Prefill
from properties.chapter import CONFIG
from properties.geometry import position_sweep
from properties.judge import Judge, PropertyFailed
from properties.script import Script, Weights

SCRIPT: Final = Script(
    config=replace(CONFIG, dtype="float32"),
    weights=Weights(seed=38, gain_spread=0.5),
    calls=(Prefill(prompt=(0, 1)), Decode(token_id=2)),
)


def broken_by(script: Script) -> list[str]:
    with pytest.raises(PropertyFailed) as failure:
        Judge()(script)
    return [law.id for law in failure.value.broken]


def test_answer_that_is_widened_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    Judge()(SCRIPT)

    def widened(logits: Vector, *facts: int) -> StepOutput:
        return StepOutput(logits.astype(np.float64), *facts)

    monkeypatch.setattr("engine.session.StepOutput", widened)

    assert broken_by(SCRIPT) == ["P1"]


def test_rows_that_are_widened_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = KVCache._copied_rows

    def widened(cache: KVCache) -> tuple[LayerRows, ...]:
        return tuple(
            replace(rows, values=rows.values.astype(np.float64))
            for rows in honest(cache)
        )

    monkeypatch.setattr(KVCache, "_copied_rows", widened)

    assert broken_by(SCRIPT) == ["P2"]


def test_narrow_angles_are_seen_at_distant_positions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def narrow(position: int, head_dim: int, base: float, dtype: DType) -> Rotation:
        turns = frequencies(head_dim, base).astype(dtype)
        unit: Rotation = np.exp(1j * (np.dtype(dtype).type(position) * turns))
        return unit

    monkeypatch.setattr("engine.row.rotation", narrow)
    distant = [each for each in position_sweep() if each.config.dtype == "float32"][-1]

    assert broken_by(distant)[0] in {"P2", "P7"}
