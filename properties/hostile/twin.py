"""``Twin``: the reference in the place of the engine, which refuses the same."""

from collections.abc import Iterable
from typing import SupportsIndex

from engine import Generation, GenerationRequest, SplitMix64, Work
from properties.chapter import PROMPT
from properties.hostile.world import CONFIG, WEIGHTS, Phase
from reference import generate_by_replay
from reference.session import (
    CacheModel,
    DecoderModel,
    ParameterModel,
    check_training,
)


class Twin:
    """As far as the reference goes, a ``World``.

    Args:
        phase: what has come before
    """

    def __init__(self, phase: Phase) -> None:
        decoder = DecoderModel(CONFIG, tuple(map(ParameterModel, WEIGHTS)))
        self.session = CacheModel(decoder, Work()).bind(decoder)
        if phase != Phase.NEW:
            self.session.prefill(PROMPT)
        if phase == Phase.CLOSED:
            self.session.close()

    def generate(
        self, prompt: Iterable[SupportsIndex], request: GenerationRequest
    ) -> Generation:
        """By replay."""
        return generate_by_replay(CONFIG, WEIGHTS, prompt, request, SplitMix64(0))

    def loss(
        self, tokens: Iterable[SupportsIndex], targets: Iterable[SupportsIndex]
    ) -> None:
        """Only whether there is one."""
        check_training(CONFIG, tokens, targets)
