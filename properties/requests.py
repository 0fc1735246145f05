"""Every argument of a call at each of its edges, one at a time.

Random calls rarely have one strange thing and nothing else; here each has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Final, get_args

from engine import AdamWConfig, DecoderConfig, Work
from engine.arrays import DType
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Close,
    Copy,
    Decode,
    Flaw,
    Generate,
    NewCache,
    NewDecoder,
    NotFinite,
    Prefill,
    Reset,
    Restore,
    Sampling,
    Step,
    Token,
    Train,
)
from properties.cells import WEIGHTS
from properties.geometry import changes
from properties.resized import PER_BLOCK
from properties.script import LARGE_STEP, Fault, Script
from reference.session import Content

CONFIG: Final = DecoderConfig(
    vocab_size=5,
    d_model=16,  # heads have two frequencies
    n_heads=4,
    n_kv_heads=2,
    d_ff=3,
    n_layers=2,
    capacity=4,
    rope_base=10_000.5,
    rms_epsilon=1e-6,
)
N_PARAMETERS: Final = 2 + PER_BLOCK * CONFIG.n_layers

_WORD: Final = 2**64
_V: Final = CONFIG.vocab_size
_STRANGE: Final[tuple[Token, ...]] = (_V, -1, True, False, _WORD, _WORD + 1, -(2**63))
_GOOD_PROMPTS: Final = (0,), (3, 1, 4), (4, 0, 2, 1)
_BAD_PROMPTS: Final[tuple[tuple[Token, ...], ...]] = (
    *((), (0, 1, 2, 3, 4), 9 * (0,)),
    *((0, each) for each in _STRANGE),
    (-1, True),  # the first of them decides
    (-1, 0, 1, 2, 3),  # and the length before all of them
)
_TEMPERATURES: Final[tuple[float | NotFinite, ...]] = (
    *("inf", "-inf", "nan"),
    *(0.0, -1.0, 1e-300, 1e-3, 0.5, 2.0, 1e300),
)
_FLAWS: Final = "missing", "surplus", "shape", "nan", "overflow", "duplicate"
_GENERATE: Final = Generate(
    prompt=(0,), sampling=Sampling(temperature=1.0, k=3), max_new_tokens=3, rng_state=38
)
_EDGES: Final[Mapping[str, Sequence[object]]] = {
    "prompt": (*_GOOD_PROMPTS, *_BAD_PROMPTS),
    "sampling": (None,),
    "eos_token": (None, *range(_V), *_STRANGE),
    "max_new_tokens": (0, 1, 2, 4, 5, _WORD, -1, True),
    "rng_state": (0, 1, 2**32, 2**63, _WORD - 1),
}


def request_sweep() -> Iterator[Script]:
    """All of them, each the only one of its script, or after what it takes."""
    for calls in _requests():
        yield Script(config=CONFIG, weights=WEIGHTS, calls=calls)
    yield from _worn()
    trained = *(2 * _STEPS), Restore(), *_STEPS
    for dtype, optimizer in product(get_args(DType), _OPTIMIZERS):
        yield Script(
            config=replace(CONFIG, dtype=dtype),
            weights=WEIGHTS,
            optimizer=optimizer,
            calls=trained,
        )


def _requests() -> Iterator[tuple[Call, ...]]:
    """Calls that leave nothing behind share a script, as many as there are."""
    yield from _by_dozens(_generations())
    strange = [Decode(token_id=each) for each in _STRANGE]
    bad = [Prefill(prompt=each) for each in _BAD_PROMPTS]
    yield (*strange, *bad, Prefill(prompt=(1, 0)), *strange, *bad)
    yield (Prefill(prompt=(1, 0, 2, 3)), *strange, Decode(token_id=0))
    yield from ((Prefill(prompt=each), Prefill(prompt=each)) for each in _GOOD_PROMPTS)
    for tokens, targets in _lessons():
        yield (Close(), Train(tokens=tokens, targets=targets))
    yield from _by_dozens(Train(tokens=a, targets=b) for a, b in _bad_lessons())
    wrong = [Step(flaw=Flaw(kind=flaw, index=3)) for flaw in _FLAWS]
    yield (Close(), *wrong, Step(), *wrong, Step())
    yield (Close(), Step(), *wrong, Step(flaw=Flaw(kind="subset", index=3)), Step())
    yield from _binds()
    yield from _lives()


def _by_dozens(calls: Iterable[Call]) -> Iterator[tuple[Call, ...]]:
    left = iter(calls)
    while dozen := tuple(islice(left, 12)):
        yield dozen


def _binds() -> Iterator[tuple[Call, ...]]:
    """Decoders that are another's but for one thing, or for none."""
    yield (NewDecoder(), Close(), Bind(decoder=1))
    yield (Close(), *(BindChanged(changes=each) for each in changes(CONFIG)), Bind())
    alone = [(index,) for index in range(N_PARAMETERS)]
    others = [tuple(set(range(N_PARAMETERS)) - {*each}) for each in alone]
    twins = (BindRebuilt(rebuilt=each) for each in (*alone, *others))
    yield (Close(), *twins, Bind())
    for index in (0, 1, 10, N_PARAMETERS - 1):
        rest = Step(flaw=Flaw(kind="subset", index=index))
        yield (Close(), rest, Bind(), rest, Bind())
        for rebuilt in (alone[index], others[index]):
            yield (
                NewDecoder(rebuilt=rebuilt),
                Step(decoder=1),
                Close(),
                Step(decoder=1),
            )


def _lives() -> Iterator[tuple[Call, ...]]:
    """Copies, twins, other decoders and loaded ones, each in use beside the first."""
    filled, twin = (
        Prefill(prompt=(1, 0)),
        NewDecoder(rebuilt=tuple(range(N_PARAMETERS))),
    )
    used = Prefill(cache=1, prompt=(0,)), Decode(cache=1, token_id=2), Reset(cache=1)
    first = Decode(token_id=2), Reset(), filled
    yield (
        filled,
        Copy(),
        Bind(cache=1),
        Decode(cache=1, token_id=3),
        *first,
        *used[2:],
    )
    yield (filled, Copy(), Close(), Step(), Bind(cache=1), NewCache(), Bind(cache=2))
    yield (NewCache(), Bind(cache=1), filled, *used, *first, *used)
    yield (twin, Step(decoder=1), Close(), Bind(), filled, Decode(token_id=2))
    yield (twin, NewCache(decoder=1), Bind(cache=1, decoder=1), filled, *used, *first)
    yield (filled, Close(), Step(), Bind(), NewCache(), Bind(cache=1), *used)
    yield (Close(), *22 * (Step(seed=3, scale=0.1),), Bind(), Restore(), Step())
    for rng_state in (0, 1, _WORD - 1):
        loaded = Generate(prompt=(0,), rng_state=rng_state), Restore()
        yield (*loaded, NewCache(decoder=1), Bind(cache=1, decoder=1), *used)


def _worn() -> Iterator[Script]:
    """Caches with a counter that has room for one row, two or three, or not quite.

    Where it has not, a fault waits in the call that is refused, and never comes.
    """
    for n_prompt, n_rows in ((1, 1), (1, 2), (1, 3), (2, 2), (2, 3)):
        counts = Content(n_rows * (0,), n_prompt, Work()).work(CONFIG)
        refused = 2 + n_rows - n_prompt
        fault = Fault(call=refused, point=0, raises="Exception")
        for counter, n_short in product(range(6), (0, 1)):
            worn = 6 * [0]
            worn[counter] = min(_WORD - 1, _WORD - 1 - counts[counter] + n_short)
            a, b, c, d, e, f = worn
            calls: tuple[Call, ...] = (
                NewCache(work=(a, b, c, d, e, f)),
                Bind(cache=1),
                Prefill(cache=1, prompt=tuple(range(n_prompt))),
                *(3 - n_prompt) * (Decode(cache=1, token_id=2),),
            )
            faults = n_short * (fault,)
            yield Script(config=CONFIG, weights=WEIGHTS, calls=calls, faults=faults)
    for work in _WORN_TWICE:
        calls = NewCache(work=work), Bind(cache=1), Prefill(cache=1, prompt=(0, 1))
        yield Script(config=CONFIG, weights=WEIGHTS, calls=calls)


def _generations() -> Iterator[Generate]:
    """One request, and what differs from it in one thing or two."""
    for field, values in _EDGES.items():
        for value in values:
            yield _GENERATE.model_copy(update={field: value})
    for temperature, k in product(_TEMPERATURES, (_V, 2)):
        yield _sampled(temperature, k)
    for k in (0, -1, 1, _V - 1, _V + 1, _WORD):
        yield _sampled(1.0, k)
    yield _sampled(0.0, 0)
    yield _sampled(1.0, 0).model_copy(update={"max_new_tokens": -1})
    yield _GENERATE.model_copy(update={"eos_token": _V, "max_new_tokens": 0})
    yield _GENERATE.model_copy(update={"sampling": None, "max_new_tokens": _WORD})


def _sampled(temperature: float | NotFinite, k: int) -> Generate:
    sampling = Sampling(temperature=temperature, k=k)
    return _GENERATE.model_copy(update={"sampling": sampling})


def _lessons() -> Iterator[tuple[tuple[Token, ...], tuple[Token, ...]]]:
    """Tokens and targets."""
    yield from ((prompt, prompt[::-1]) for prompt in _GOOD_PROMPTS)


def _bad_lessons() -> Iterator[tuple[tuple[Token, ...], tuple[Token, ...]]]:
    """The same, each wrong in one way or two."""
    yield from ((prompt, prompt) for prompt in _BAD_PROMPTS)
    yield from (((0, 1), (1, each)) for each in _STRANGE)
    yield from (((0, 1), targets) for targets in ((), (1,), (1, 2, 3)))
    yield from (((0, _V), (1,)), ((0, _V), (1, _V)))


_WORN_TWICE: Final = (
    (_WORD - 1, 0, 0, _WORD - 1, 0, 0),
    (0, _WORD - 2, 0, 0, 0, _WORD - 1),
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
