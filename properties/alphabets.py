"""Small alphabets of calls on small geometries, for what puts them in every order.

Each geometry has an alphabet of its own, and what one leaves out another has:

- ``chapter``: one cache through all of its phases, with refusals between them, and an
  optimizer step that makes it stale.
- ``copied``: a cache and its copy, bound both to one decoder of grouped heads, in
  float32. They share a history and go on apart; a step needs both of them closed.
- ``shared``: one block whose heads share keys and values, with everything that makes
  or changes caches beside a session, and generation. (A loss takes too long for this.)
"""

from dataclasses import dataclass
from typing import Final

from engine import DecoderConfig
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Changes,
    Close,
    Copy,
    Decode,
    Generate,
    NewCache,
    Prefill,
    Reset,
    Sampling,
    Step,
)
from properties.chapter import CONFIG, SEED
from properties.script import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """A decoder, and the calls that sequences on it are made of.

    Every call is valid wherever it stands: it names what exists from the start.

    Attributes:
        prelude: what every script begins with; not counted in its depth
        alphabet: what is put in every order
    """

    name: str
    config: DecoderConfig
    weights: Weights
    prelude: tuple[Call, ...] = ()
    alphabet: tuple[Call, ...]


_CHAPTER: Final = Geometry(
    name="chapter",
    config=CONFIG,
    weights=Weights(seed=SEED),
    alphabet=(
        Prefill(prompt=(0, 1)),
        Prefill(prompt=(2, 0, 1, 3)),
        Prefill(prompt=(4, 3, 2, 1, 0)),  # one more than fits
        Prefill(prompt=(1, 5)),  # its first token is in the vocabulary
        Decode(token_id=2),
        Decode(token_id=5),
        Reset(),
        Close(),
        Bind(),
        Step(seed=1),
    ),
)

_COPIED: Final = Geometry(
    name="copied",
    config=DecoderConfig(
        vocab_size=3,
        d_model=8,
        n_heads=4,
        n_kv_heads=2,
        d_ff=3,
        n_layers=2,
        capacity=3,
        rope_base=1.5,
        rms_epsilon=1e-2,
        dtype="float32",
    ),
    weights=Weights(seed=4, gain_spread=0.5),
    prelude=(Prefill(prompt=(2, 0)), Copy(), Bind(cache=1)),
    alphabet=(
        Prefill(prompt=()),
        Decode(token_id=0),
        Reset(),
        Close(),
        Prefill(cache=1, prompt=(1,)),
        Decode(cache=1, token_id=1),
        Reset(cache=1),
        Close(cache=1),
        Bind(cache=1),
        Step(seed=2),
    ),
)

_SHARED: Final = Geometry(
    name="shared",
    config=DecoderConfig(
        vocab_size=3,
        d_model=4,
        n_heads=2,
        n_kv_heads=1,
        d_ff=2,
        n_layers=1,
        capacity=2,
        rope_base=10_000.0,
        rms_epsilon=0.0,
    ),
    weights=Weights(seed=9, gain_spread=0.5),
    alphabet=(
        Prefill(prompt=(1,)),
        Decode(token_id=2),
        Close(),
        Bind(),
        BindRebuilt(rebuilt=(3, 7)),
        BindChanged(changes=Changes(rms_epsilon=1e-6)),
        Copy(),
        NewCache(),
        Step(seed=3),
        Generate(
            prompt=(2,),
            sampling=Sampling(temperature=0.5, k=2),
            eos_token=0,
            max_new_tokens=2,
        ),
    ),
)

GEOMETRIES: Final = _CHAPTER, _COPIED, _SHARED
