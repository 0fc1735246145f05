"""A decoder and an optimizer whose numbers a careless file would not give back."""

from dataclasses import replace
from typing import Final

from engine.decoder import Decoder
from engine.optimizer import AdamW
from engine.splitmix import SplitMix64
from tests.models import ADAMW, SEED, TINY

ODD: Final = replace(TINY, capacity=2, rope_base=0.1 + 0.2, rms_epsilon=5e-324)


def odd_decoder(seed: int = SEED) -> Decoder:
    return Decoder.initialize(ODD, SplitMix64(seed))


def odd_optimizer() -> AdamW:
    config = replace(ADAMW, learning_rate=0.1 + 0.2, beta1=1 / 3, weight_decay=0.0)
    return AdamW(config)


def step_by_a_third(decoder: Decoder, optimizer: AdamW) -> None:
    gradients = [parameter.value / 3 for parameter in decoder.parameters]
    optimizer.step(decoder.parameters, gradients)
