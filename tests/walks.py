"""Scripts by chance, and what the model alone sees of a script."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from random import Random
from typing import Final

from engine import DecoderConfig, EngineError
from engine.arrays import Array
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Changes,
    Close,
    Copy,
    Counts,
    Decode,
    Flaw,
    Generate,
    NewCache,
    NewDecoder,
    Prefill,
    Reset,
    Restore,
    Step,
    Train,
)
from properties.drawn import initial_weights
from properties.injector import as_raised
from properties.judge import Verdict
from properties.model import Model
from properties.plan import in_force, make_on
from properties.points import Fallible, Point, points_between
from properties.record import Seen, state_of
from properties.rehearsal import cache_of
from properties.script import Fault, Script, ScriptRejected, Weights

CONFIG: Final = DecoderConfig(
    vocab_size=3,
    d_model=2,
    n_heads=1,
    n_kv_heads=1,
    d_ff=1,
    n_layers=0,  # two parameters: a step is cheap
    capacity=3,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)
_NEARLY_OVER: Final[Counts] = (2**64 - 2, 0, 0, 0, 0, 0)

_MAKING: Final[tuple[Call, ...]] = (
    NewDecoder(rebuilt=(0, 1)),
    Restore(),
    NewCache(),
    NewCache(decoder=1),
    NewCache(work=_NEARLY_OVER),
)
_CHANGING: Final[tuple[Call, ...]] = (
    *(Step(decoder=decoder) for decoder in (0, 1)),
    *(
        Step(decoder=decoder, flaw=Flaw(kind=kind))
        for kind in ("duplicate", "subset", "missing", "overflow")
        for decoder in (0, 1)
    ),
    *(
        Train(decoder=decoder, tokens=tokens, targets=targets)
        for tokens, targets in (
            ((0, 1), (1, 2)),
            ((), ()),
            ((0, 1, 2, 0), (0, 1, 2, 0)),
            ((0,), (1, 2)),
            ((3,), (1,)),
            ((1,), (3,)),
            ((True,), (1,)),
        )
        for decoder in (0, 1)
    ),
    Generate(prompt=(1,)),
)


def _on_cache(cache: int) -> tuple[Call, ...]:
    sessions = tuple(product((cache,), (0, 1)))
    return (
        Copy(cache=cache),
        *(Bind(cache=cache, decoder=decoder) for decoder in (0, 1)),
        BindRebuilt(cache=cache, rebuilt=(1,)),
        BindChanged(cache=cache, changes=Changes(capacity=7)),
        *(
            Prefill(cache=cache, age=age, prompt=prompt)
            for _, age in sessions
            for prompt in ((1,), (2, 0, 1), (), (0, 1, 2, 0), (3,), (True,))
        ),
        *(
            Decode(cache=cache, age=age, token_id=token)
            for _, age in sessions
            for token in (1, 3, True)
        ),
        *(each(cache=cache, age=age) for _, age in sessions for each in (Reset, Close)),
    )


_MAX_CACHES: Final = 4
_ON_CACHES: Final = tuple(_on_cache(index) for index in range(_MAX_CACHES))


def walk(rng: Random, n_calls: int) -> Verdict:
    """A run of this many calls by chance, on the model."""
    model = Model(CONFIG, _drawn(CONFIG, Weights(seed=1)))
    seen, focus = list[Seen](), 0
    while len(seen) < n_calls:
        call = rng.choice(_letters(rng, len(model.caches)))
        if cache_of(call, focus) < len(model.caches):
            try:
                seen.append(_see(model, call, cache_of(call, focus)))
            except ScriptRejected:
                continue  # no such decoder or session
            focus = cache_of(call, focus)
    return _verdict(seen)


def _letters(rng: Random, n_caches: int) -> Sequence[Call]:
    """Calls of one sort; those that make caches seldom, since each can change less."""
    sort = rng.random()
    if sort < 0.1 and n_caches < _MAX_CACHES:
        return _MAKING
    return _CHANGING if sort < 0.4 else rng.choice(_ON_CACHES[:n_caches])


def seen_by_model(script: Script) -> Verdict:
    """What a judge would see, where no arithmetic decides."""
    weights = _drawn(script.config, script.weights)
    model = Model(script.config, weights, script.optimizer)
    seen, focus = list[Seen](), 0
    for index, call in enumerate(script.calls):
        focus = cache_of(call, focus)
        fault = in_force(script.faults, index)
        seen.append(_see(model, call, focus, fault))
    return _verdict(seen)


@cache
def _drawn(config: DecoderConfig, weights: Weights) -> Mapping[str, Array]:
    return initial_weights(config, weights)


def _see(model: Model, call: Call, focus: int, fault: Fault | None = None) -> Seen:
    before, outcome = state_of(model.caches[focus]), "done"
    struck = None
    try:
        if make_on(model, call, fault) and fault is not None:
            struck = _point(model, call, fault)
            outcome = type(as_raised(fault, struck)).__name__
    except (EngineError, TypeError) as refusal:
        outcome = type(refusal).__name__
    kept = model.caches[focus]
    return Seen(call, outcome, before, state_of(kept), kept.length, 0.0, struck)


def _point(model: Model, call: Call, fault: Fault) -> Point:
    assert isinstance(call, Fallible)
    start = model.cache(call.cache).length if isinstance(call, Decode) else 0
    n_rows = 1 if isinstance(call, Decode) else len(call.prompt)
    n_layers = model.decoders[0].config.n_layers
    return points_between(n_layers, start, start + n_rows)[fault.point]


def _verdict(seen: Sequence[Seen]) -> Verdict:
    return Verdict(seen=tuple(seen), closing=(), digest="", n_unsure=0, n_skipped=0)
