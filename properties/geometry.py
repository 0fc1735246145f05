"""Configurations, weights and tokens on which caches go wrong.

Hypothesis draws configurations and weights; what there are many of in a script is
drawn by a generator, as its choices take ten microseconds each and these take one.

Each choice is there because without it some fault was not seen; repeated entries are
what most examples should have. The first entry is what examples shrink towards.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from itertools import product
from random import Random
from typing import Final, get_args

from hypothesis import strategies as st

from engine import DecoderConfig, InvalidConfig
from engine.arrays import DType
from properties.calls import Call, Changes, Decode, Prefill, Reset, Token
from properties.script import Script, Weights

# (n_heads, n_kv_heads): one for all, one each, and in between.
_HEADS: Final = (
    *((1, 1), (2, 1), (2, 2), (4, 2), (1, 1), (2, 1), (4, 2)),
    *((3, 1), (3, 3), (4, 1), (4, 4), (6, 2), (6, 3)),
)
_HEAD_DIMS: Final = (2, 2, 4, 4, 6)
_DTYPES: Final[tuple[DType, ...]] = "float64", "float64", "float64", "float32"
# With fewer than two blocks a third of all faults vanish.
_LAYERS: Final = (2, 2, 2, 2, 2, 2, 3, 3, 1, 0)
# One above a power of two is where a wrapped position shows; long ones cost a replay.
_CAPACITIES: Final = (4, 5, 3, 6, 2, 7, 9, 8, 1, 4, 5, 3, 6, 5, 4, 7, 9, 6, 17, 33)

_ORDINARY: Final = (
    *(36 * [1.0]),  # activations of variance about 1
    *(8 * [3.0]),  # saturates the softmax
    *(4 * [0.02]),  # everything is small, faults too
)
_SCALES: Final[Mapping[DType, tuple[float, ...]]] = {
    "float64": (
        *_ORDINARY,
        *(1e-8, 1e-25, 1e-160),  # squares vanish beside epsilon, and then at all
        *(3 * [1e40]),  # finite everywhere, squares up to the edge
        *(2 * [2e51]),  # overflows at some tokens, and not at others
        *(1e77, 1e154, 1e300),  # overflow in the first prompt, and end all use
    ),
    "float32": (
        *_ORDINARY,
        *(1e-8, 1e-20, 1e-25),
        *(3 * [1e5]),
        *(2 * [2e6]),
        *(1e9, 1e19, 1e38),
    ),
}
_GAIN_SPREADS: Final = (0.5, 0.5, 0.5, 0.9, 0.0)

# The last one is 0 as a float32.
_EPSILONS: Final = (1e-6, 1e-2, 0.0, 1e-6, 1e-2, 1e-46)

# Beside the vocabulary, near and far, and what is no integer. The largest one wraps
# into the vocabulary where somebody takes it for a 64-bit word.
_FAR: Final[tuple[Token, ...]] = (-1, 2**64, True, -(2**63), False)

_POWERS: Final = range(2, 9)
_BASES: Final[Mapping[DType, float]] = {"float64": 10_000.0, "float32": 1.5}


@st.composite
def configs(draw: st.DrawFn) -> DecoderConfig:
    """Small decoders; most have two blocks and share key/value heads.

    They shrink towards one head of two features, in binary64.
    """
    n_heads, n_kv_heads = draw(st.sampled_from(_HEADS))
    return DecoderConfig(
        vocab_size=draw(st.sampled_from((5, 4, 3, 2, 6, 7))),
        d_model=n_heads * draw(st.sampled_from(_HEAD_DIMS)),
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_ff=draw(st.sampled_from((4, 5, 3, 2, 1, 6, 7, 8, 9))),
        n_layers=draw(st.sampled_from(_LAYERS)),
        capacity=draw(st.sampled_from(_CAPACITIES)),
        rope_base=draw(st.sampled_from((10_000.0, 1.5, 500_000.0))),
        rms_epsilon=draw(st.sampled_from(_EPSILONS)),
        dtype=draw(st.sampled_from(_DTYPES)),
    )


@st.composite
def weights(draw: st.DrawFn, dtype: DType = "float64") -> Weights:
    """Weights at the chapter's scale mostly, and at every other; never zero."""
    return Weights(
        seed=draw(st.integers(0, 2**64 - 1)),
        scale=draw(st.sampled_from(_SCALES[dtype])),
        gain_spread=draw(st.sampled_from(_GAIN_SPREADS)),
    )


@st.composite
def begun(draw: st.DrawFn, shapes: st.SearchStrategy[DecoderConfig]) -> Script:
    """Scripts without calls: a decoder of one of these shapes, and its weights."""
    config = draw(shapes)
    return Script(config=config, weights=draw(weights(config.dtype)), calls=())


def token(rng: Random, config: DecoderConfig) -> int:
    """One of the vocabulary."""
    return rng.randrange(config.vocab_size)


def strange_token(rng: Random, config: DecoderConfig) -> Token:
    """What is no token: an integer outside the vocabulary, or a ``bool``."""
    return rng.choice((config.vocab_size, *_FAR))


def good_prompt(rng: Random, config: DecoderConfig) -> tuple[int, ...]:
    """One that fits: of 1 token, of 2, of many, or of exactly the capacity."""
    capacity = config.capacity
    n_tokens = rng.choice((1, min(2, capacity), (capacity + 2) // 2, capacity))
    return tokens(rng, config, n_tokens)


def bad_prompts(rng: Random, config: DecoderConfig) -> list[tuple[Token, ...]]:
    """What no cache takes: something strange, tokens too many, or none."""
    prompt, place = good_prompt(rng, config), rng.randrange(config.capacity)
    before, after = prompt[:place], prompt[place + 1 :]
    return [
        (),
        tokens(rng, config, config.capacity + rng.choice((1, 1, 9))),
        (*before, strange_token(rng, config), *after),
        (*before, True),
        (strange_token(rng, config), True),  # and the first of them decides
    ]


def any_prompt(rng: Random, config: DecoderConfig) -> tuple[Token, ...]:
    """A good one or a bad one."""
    good = good_prompt(rng, config)
    return rng.choice((good, good, good, *bad_prompts(rng, config)))


def tokens(rng: Random, config: DecoderConfig, n_tokens: int) -> tuple[int, ...]:
    """So many tokens of the vocabulary."""
    return tuple(token(rng, config) for _ in range(n_tokens))


@lru_cache(maxsize=64)  # every script has a geometry of its own, and asks for it often
def changes(config: DecoderConfig) -> tuple[Changes, ...]:
    """Each field changed alone, wherever that is valid; and both counts of heads."""
    alone = [
        Changes.model_validate({field: value})
        for field, values in _other_values(config).items()
        for value in values
        if _is_valid(config, {field: value})
    ]
    together = [
        Changes(n_heads=n_heads, n_kv_heads=n_kv_heads)
        for n_heads, n_kv_heads in sorted({*_HEADS})
        if n_heads != config.n_heads and n_kv_heads != config.n_kv_heads
        if _is_valid(config, {"n_heads": n_heads, "n_kv_heads": n_kv_heads})
    ]
    return (*alone, *together)


def position_sweep() -> Iterator[Script]:
    """Every power of two up to 256, one below and one above: as length and position.

    In both dtypes: what float32 makes of a position, only a distant one tells, and only
    where no frequency is tiny.

    Each script decodes across one such position to its full cache, is refused, and then
    fills the same cache from a prompt of exactly that length.
    """
    shape = DecoderConfig(
        vocab_size=5,
        d_model=4,
        n_heads=1,
        n_kv_heads=1,
        d_ff=3,
        n_layers=2,
        capacity=1,
        rope_base=10_000.0,
        rms_epsilon=1e-6,
    )
    lengths = sorted(2**k + beside for k in _POWERS for beside in (-1, 0, 1))
    for dtype, length in product(get_args(DType), lengths):
        history = tuple((3 * i + i // 7) % 5 for i in range(length + 2))
        calls: list[Call] = [Prefill(prompt=history[: length - 1])]
        calls += [Decode(token_id=token_id) for token_id in (*history[-3:], 0)]
        calls += [Reset(), Prefill(prompt=history[:length])]
        calls += [Decode(token_id=history[length])]
        yield Script(
            config=replace(
                shape, capacity=length + 2, rope_base=_BASES[dtype], dtype=dtype
            ),
            weights=Weights(seed=length, gain_spread=0.5),
            calls=tuple(calls),
        )


def _other_values(config: DecoderConfig) -> Mapping[str, tuple[float | DType, ...]]:
    """Values by field that differ from the configuration's, valid or not."""
    beside = {
        field: (value + 1, value - 1)
        for field, value in asdict(config).items()
        if isinstance(value, int)
    }
    heads = {n for pair in _HEADS for n in pair}
    rope_base, rms_epsilon = config.rope_base, config.rms_epsilon
    width = 2 * config.n_heads  # with which every head stays even
    return beside | {
        "d_model": (config.d_model + width, config.d_model - width),
        "n_heads": tuple(heads - {config.n_heads}),
        "n_kv_heads": tuple(heads - {config.n_kv_heads}),
        # By any amount, down to the last bit.
        "rope_base": (2 * rope_base, math.nextafter(rope_base, math.inf)),
        "rms_epsilon": (rms_epsilon + 1e-9, math.nextafter(rms_epsilon, math.inf)),
        "dtype": tuple(each for each in get_args(DType) if each != config.dtype),
    }


def _is_valid(config: DecoderConfig, fields: Mapping[str, float | DType]) -> bool:
    try:
        replace(config, **fields)  # type: ignore[arg-type] # the config checks its types
    except InvalidConfig:
        return False
    return True
