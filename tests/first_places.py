"""Where the first number beyond its bound is, in scripts on a grouped decoder."""

from dataclasses import replace
from typing import Final, NamedTuple

from engine import DecoderConfig
from properties.calls import Call, Decode, Generate, Prefill, Sampling
from properties.cells import CONFIG
from properties.first_difference import FirstDifference
from properties.script import Fault, Script, Weights
from tests.judged import failure_of

WIDE: Final = replace(CONFIG, d_model=16, rms_epsilon=0.01)
"""Two query heads to a key/value head, of four features each."""

DTYPES: Final = {each: replace(WIDE, dtype=each) for each in ("float64", "float32")}
GROWS: Final = (Prefill(prompt=(0, 1)), Decode(token_id=2))
SAMPLES: Final = Generate(
    prompt=(0,), sampling=Sampling(temperature=0.5, k=3), rng_state=38
)


class At(NamedTuple):
    stage: str
    block: int | None = 0
    position: int = 0
    head: int | None = None
    element: int | None = None


def script_of(
    *calls: Call, config: DecoderConfig = WIDE, faults: tuple[Fault, ...] = ()
) -> Script:
    weights = Weights(seed=38, gain_spread=0.5)
    return Script(config=config, weights=weights, calls=calls, faults=faults)


def found_in(script: Script) -> FirstDifference:
    first = failure_of(script).first
    assert isinstance(first, FirstDifference)
    return first


def place_of(first: FirstDifference) -> At:
    return At(first.stage, first.block, first.position, first.head)
