"""Every argument of a call at each of its edges, one at a time.

Random calls rarely have one strange thing and nothing else; here each has.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, get_args

import numpy as np

from engine import AdamWConfig, DecoderConfig, Work
from engine.arrays import DType
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Close,
    Decode,
    Flaw,
    Generate,
    NewCache,
    NewDecoder,
    NotFinite,
    Prefill,
    Restore,
    Sampling,
    Step,
    Token,
    Train,
)
from properties.geometry import changes
from properties.script import LARGE_STEP, Fault, Script, Weights
from reference.session import Content

CONFIG: Final = DecoderConfig(
    vocab_size=5,
    d_model=16,  # heads have two frequencies
    n_heads=4,
    n_kv_heads=2,
    d_ff=3,
    n_layers=2,
    capacity=4,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)
WEIGHTS: Final = Weights(seed=38, gain_spread=0.5)

_WORD: Final = 2**64
_STRANGE: Final[tuple[Token, ...]] = (5, -1, True, False, _WORD, _WORD + 1, -(2**63))
_PROMPTS: Final[tuple[tuple[Token, ...], ...]] = (
    *((), (0, 1, 2, 3, 4), 9 * (0,), (0,), (3, 1, 4), (4, 0, 2, 1)),
    *((0, each) for each in _STRANGE),
    (-1, True),  # the first of them decides
    (-1, 0, 1, 2, 3),  # and the length before all of them
)
_TEMPERATURES: Final[tuple[float | NotFinite, ...]] = (
    *("inf", "-inf", "nan"),
    *(0.0, -1.0, 1e-300, 1e-3, 0.5, 2.0, 1e300),
)
_FLAWS: Final = "missing", "surplus", "shape", "nan", "overflow", "duplicate", "subset"
_GENERATE: Final = Generate(
    prompt=(0,), sampling=Sampling(temperature=1.0, k=3), max_new_tokens=3, rng_state=38
)
_EDGES: Final[Mapping[str, Sequence[object]]] = {
    "prompt": _PROMPTS,
    "sampling": (None,),
    "eos_token": (None, *range(5), *_STRANGE),
    "max_new_tokens": (0, 1, 2, 4, 5, _WORD, -1, True),
    "rng_state": (0, 1, 2**32, 2**63, _WORD - 1),
}


def request_sweep() -> Iterator[Script]:
    """All of them, each the only one of its script, or after what it takes."""
    for calls in _requests():
        yield Script(config=CONFIG, weights=WEIGHTS, calls=calls)
    yield from _worn()
    yield from _numbers()
    trained = *(2 * _STEPS), Restore(), *_STEPS
    for dtype, optimizer in product(get_args(DType), _OPTIMIZERS):
        yield Script(
            config=replace(CONFIG, dtype=dtype),
            weights=WEIGHTS,
            optimizer=optimizer,
            calls=trained,
        )


def _requests() -> Iterator[tuple[Call, ...]]:
    yield from ((each,) for each in _generations())
    for prompt in _PROMPTS:
        yield (Prefill(prompt=prompt),)
        yield (Prefill(prompt=(1, 0)), Prefill(prompt=prompt))
    for token_id in _STRANGE:
        yield (Prefill(prompt=(1, 0)), Decode(token_id=token_id))
        yield (Prefill(prompt=(1, 0, 2, 3)), Decode(token_id=token_id))
        yield (Decode(token_id=token_id),)
    for tokens, targets in _lessons():
        yield (Close(), Train(tokens=tokens, targets=targets))
    for flaw in _FLAWS:
        wrong = Step(flaw=Flaw(kind=flaw, index=3))
        yield (Close(), wrong)
        yield (Close(), Step(), wrong, Step())
    yield from _binds()
    for rng_state in (0, 1, _WORD - 1):
        yield (Generate(prompt=(0,), rng_state=rng_state), Restore())
    yield (Restore(), NewCache(decoder=1), Bind(cache=1, decoder=1))
    for work in (
        (_WORD - 1, 0, 0, _WORD - 1, 0, 0),
        (0, _WORD - 2, 0, 0, 0, _WORD - 1),
    ):
        yield (NewCache(work=work), Bind(cache=1), Prefill(cache=1, prompt=(0, 1)))


def _numbers() -> Iterator[Script]:
    """Weights that overflow or vanish: in a session, and in a loss."""
    calls: tuple[Call, ...] = Prefill(prompt=(0, 1)), Decode(token_id=2), Close(), _LOSS
    for dtype, factors, changed in product(get_args(DType), _FACTORS, _CHANGED):
        exponents = math.log2(np.finfo(dtype).max)
        powers = tuple(
            (name, 2.0 ** int(share * exponents) if share else 0.0)
            for name, share in factors.items()
        )
        yield Script(
            config=replace(CONFIG, dtype=dtype, **changed),
            weights=WEIGHTS.model_copy(update={"factors": powers}),
            calls=calls,
        )


def _binds() -> Iterator[tuple[Call, ...]]:
    """Decoders that are another's but for one thing, or for none."""
    yield (NewDecoder(), Close(), Bind(decoder=1))
    yield from ((Close(), BindChanged(changes=each)) for each in changes(CONFIG))
    for index in (0, 1, 3, 10, 18, 19):
        subset, one = Flaw(kind="subset", index=index), (index,)
        others = tuple(each for each in range(20) if each != index)
        yield (Close(), BindRebuilt(rebuilt=one), Bind())
        yield (Close(), BindRebuilt(rebuilt=others), Bind())
        yield (Close(), Step(flaw=subset), Bind(), Step(flaw=subset), Bind())
        yield (NewDecoder(rebuilt=one), Step(decoder=1), Close(), Step(decoder=1))
        yield (NewDecoder(rebuilt=others), Step(decoder=1), Close(), Step(decoder=1))


def _generations() -> Iterator[Generate]:
    """One request, and what differs from it in one thing or two."""
    for field, values in _EDGES.items():
        for value in values:
            yield _GENERATE.model_copy(update={field: value})
    for temperature, k in product(_TEMPERATURES, (5, 2)):
        yield _sampled(temperature, k)
    for k in (0, -1, 1, 4, 6, _WORD):
        yield _sampled(1.0, k)
    yield _sampled(0.0, 0)
    yield _sampled(1.0, 0).model_copy(update={"max_new_tokens": -1})
    yield _GENERATE.model_copy(update={"eos_token": 5, "max_new_tokens": 0})
    yield _GENERATE.model_copy(update={"sampling": None, "max_new_tokens": _WORD})


def _sampled(temperature: float | NotFinite, k: int) -> Generate:
    sampling = Sampling(temperature=temperature, k=k)
    return _GENERATE.model_copy(update={"sampling": sampling})


def _lessons() -> Iterator[tuple[tuple[Token, ...], tuple[Token, ...]]]:
    """Tokens and targets, most of them wrong in one way."""
    yield from ((prompt, prompt) for prompt in _PROMPTS)
    yield from (((0, 1), (1, each)) for each in _STRANGE)
    yield from (((0, 1), targets) for targets in ((), (1,), (1, 2, 3)))
    yield from (((0, 5), (1,)), ((0, 5), (1, 5)))


def _worn() -> Iterator[Script]:
    """Caches with a counter that has room for one row, two or three, or not quite.

    Where it has not, a fault waits in the call that is refused, and never comes.
    """
    for n_prompt, n_rows in product((1, 2), (1, 2, 3)):
        content = Content(n_rows * (0,), min(n_prompt, n_rows), Work())
        counts = content.work(CONFIG)
        last = 2 + max(0, n_rows - n_prompt)
        fault = Fault(call=last, point=0, raises="Exception")
        for counter, n_short in product(range(6), (0, 1)):
            worn = 6 * [0]
            worn[counter] = min(_WORD - 1, _WORD - 1 - counts[counter] + n_short)
            a, b, c, d, e, f = worn
            calls = (
                NewCache(work=(a, b, c, d, e, f)),
                Bind(cache=1),
                Prefill(cache=1, prompt=tuple(range(n_prompt))),
                *(3 - n_prompt) * (Decode(cache=1, token_id=2),),
            )
            faults = n_short * (fault,)
            yield Script(config=CONFIG, weights=WEIGHTS, calls=calls, faults=faults)


_LOSS: Final = Train(tokens=(0, 1), targets=(1, 2))
_TABLE, _GAIN = "token_embedding.weight", "final_norm.gain"
_BLOCK: Final = "blocks.1"
_FACTORS: Final[Sequence[Mapping[str, float]]] = (
    {_TABLE: 0.0},  # rows without energy
    {_TABLE: -0.55},  # squares that vanish
    {_TABLE: -0.4, _GAIN: 0.45},
    {_TABLE: 0.51},  # an energy that overflows
    {_TABLE: 0.45, _GAIN: 0.2},  # huge logits
    {_GAIN: 0.999, _TABLE: 0.1},  # logits that overflow
    {f"{_BLOCK}.attention.query.weight": 0.6, f"{_BLOCK}.attention.key.weight": 0.6},
    {f"{_BLOCK}.attention.query.weight": 0.5, f"{_BLOCK}.attention.key.weight": 0.45},
    {f"{_BLOCK}.ffn.gate.weight": 0.6, f"{_BLOCK}.ffn.up.weight": 0.6},
    {f"{_BLOCK}.attention.value.weight": 0.9, f"{_BLOCK}.attention.output.weight": 0.9},
    {f"{_BLOCK}.attention_norm.gain": 0.999, f"{_BLOCK}.attention.value.weight": 0.5},
)
"""By parameter: the power of two of its factor, as a share of the dtype's largest."""
_CHANGED: Final[Sequence[Mapping[str, float]]] = (
    {},
    {"rms_epsilon": 0.0},
    {"rms_epsilon": 1e-46},
)

_STEPS: Final[tuple[Call, ...]] = (Close(), Step(seed=3, scale=0.1))
_OPTIMIZERS: Final = (
    LARGE_STEP,
    AdamWConfig(
        learning_rate=0.25, beta1=0.0, beta2=0.0, epsilon=1e-3, weight_decay=0.0
    ),
    AdamWConfig(
        learning_rate=1e-3, beta1=0.5, beta2=0.75, epsilon=1.0, weight_decay=0.5
    ),
)
