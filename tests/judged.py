"""Scripts on the chapter's decoder, and what a judge says of them."""

import pytest

from properties.calls import (
    Bind,
    Call,
    Close,
    Copy,
    Decode,
    Generate,
    NewCache,
    NewDecoder,
    Prefill,
    Reset,
    Step,
    Train,
)
from properties.chapter import CONFIG
from properties.judge import Judge, PropertyFailed, Verdict
from properties.script import Fault, Script, Weights

GROWS = (Prefill(prompt=(0, 1)), Decode(token_id=2))
UP_AND_DOWN = (*GROWS, Reset(), Prefill(prompt=(1,)), Decode(token_id=0))
MIXED = (
    *GROWS,
    Copy(),
    Bind(cache=1),
    Decode(cache=1, token_id=0),
    Decode(token_id=9),
    NewDecoder(rebuilt=(0,)),
    Close(),
    Close(cache=1),
    Train(tokens=(0, 1), targets=(1, 2)),
    Step(decoder=1, seed=3),
    NewCache(decoder=1),
    Bind(cache=2, decoder=1),
    Prefill(cache=2, prompt=(1, 1)),
    Generate(decoder=1, prompt=(0,), max_new_tokens=2),
)


def script_of(
    *calls: Call, scale: float = 1.0, seed: int = 38, faults: tuple[Fault, ...] = ()
) -> Script:
    weights = Weights(seed=seed, scale=scale, gain_spread=0.5)
    return Script(config=CONFIG, weights=weights, calls=calls, faults=faults)


def failure_of(script: Script, judge: Judge | None = None) -> PropertyFailed:
    with pytest.raises(PropertyFailed) as failure:
        (judge or Judge())(script)
    return failure.value


def outcomes(verdict: Verdict) -> list[str]:
    return [each.outcome for each in verdict.seen]


def closing(verdict: Verdict) -> list[tuple[str, str]]:
    return [(each.call.call, each.outcome) for each in verdict.closing]
