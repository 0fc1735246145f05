"""A broken engine, the script that shows it, and the law that it breaks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import pytest

from engine import StepOutput
from engine.arrays import Vector
from properties.calls import Call
from properties.chapter import CONFIG
from properties.script import Fault, Script, Weights

Patch: TypeAlias = Callable[[pytest.MonkeyPatch], None]

ULP: Final = 1 + 2.0**-52
"""Far inside the bound: only laws about bits can see it."""


@dataclass(frozen=True, slots=True)
class Witness:
    law: str
    breaks: Patch
    calls: tuple[Call, ...]
    scale: float = 1.0
    faults: tuple[Fault, ...] = ()

    @property
    def script(self) -> Script:
        weights = Weights(seed=38, scale=self.scale, gain_spread=0.5)
        calls, faults = self.calls, self.faults
        return Script(config=CONFIG, weights=weights, calls=calls, faults=faults)


def with_logits(output: StepOutput, logits: Vector) -> StepOutput:
    return StepOutput(logits, output.position, output.length, output.attention_scores)
