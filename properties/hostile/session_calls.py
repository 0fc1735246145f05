"""Calls on sessions, caches and decoders, and each of their arguments in turn."""

from dataclasses import replace
from typing import Final, Never

from engine import (
    BindingError,
    EngineError,
    GenerationRequest,
    InvalidConfig,
    KVCache,
    StageFailed,
    TopK,
    Work,
    generate,
    loss_and_gradients,
)
from properties.chapter import PROMPT
from properties.hostile.place import Perform, Place, Shared, place_of, shared_place
from properties.hostile.twin import Twin
from properties.hostile.world import Phase, World

_REQUEST: Final = GenerationRequest(
    mode=TopK(temperature=1.0, k=3), eos_token=None, max_new_tokens=2
)


SESSIONS: Final = (
    shared_place("prefill", "prompt", Phase.NEW, lambda w, v: w.session.prefill(v)),
    shared_place(
        "prefill", "second prompt", Phase.PREFILLED, lambda w, v: w.session.prefill(v)
    ),
    shared_place(
        "prefill", "late prompt", Phase.CLOSED, lambda w, v: w.session.prefill(v)
    ),
    shared_place("prefill", "token", Phase.NEW, lambda w, v: w.session.prefill([0, v])),
    shared_place("decode", "token", Phase.PREFILLED, lambda w, v: w.session.decode(v)),
    shared_place("decode", "early token", Phase.NEW, lambda w, v: w.session.decode(v)),
)


def _probed(world: World, probe: Never) -> None:
    with world.cache.bind(world.decoder, probe=probe) as session:
        session.decode(1)


CACHES: Final = (
    Place(
        call="fill_spare",
        argument="value",
        phase=Phase.PREFILLED,
        perform=lambda w, v: w.cache.fill_spare(v),
        refusals=(),
        system=(OverflowError,),
        changes=True,
    ),
    place_of("bind", "decoder", lambda w, v: w.cache.bind(v).close(), BindingError),
    replace(place_of("bind", "probe", _probed, StageFailed), changes=True),
    place_of("KVCache", "decoder", lambda _, v: KVCache(v)),
    place_of("KVCache", "work", lambda w, v: KVCache(w.decoder, v), InvalidConfig),
    place_of(
        "KVCache",
        "counter",
        lambda w, v: KVCache(w.decoder, Work(decode_tokens=v)),
        InvalidConfig,
    ),
)


def _generation(argument: str, perform: Shared) -> Place:
    return shared_place("generate", argument, Phase.CLOSED, perform)


def _asked(field: str) -> Shared:
    return lambda w, v: w.generate(PROMPT, replace(_REQUEST, **{field: v}))


def _top(field: str) -> Shared:
    def perform(world: World | Twin, value: Never) -> object:
        mode = replace(_REQUEST.mode, **{field: value})
        return world.generate(PROMPT, replace(_REQUEST, mode=mode))

    return perform


def _generate(argument: str, perform: Perform, *refusals: type[EngineError]) -> Place:
    return replace(place_of("generate", argument, perform, *refusals), changes=True)


GENERATIONS: Final = (
    _generation("prompt", lambda w, v: w.generate(v, _REQUEST)),
    _generation("token", lambda w, v: w.generate([0, v], _REQUEST)),
    _generation("mode", _asked("mode")),
    _generation("temperature", _top("temperature")),
    _generation("k", _top("k")),
    _generation("eos_token", _asked("eos_token")),
    _generation("max_new_tokens", _asked("max_new_tokens")),
    _generate("request", lambda w, v: w.generate(PROMPT, v)),
    _generate("decoder", lambda w, v: generate(v, PROMPT, _REQUEST, w.rng)),
    _generate(
        "rng", lambda w, v: generate(w.decoder, PROMPT, _REQUEST, v), InvalidConfig
    ),
    _generate(
        "probe",
        lambda w, v: generate(w.decoder, PROMPT, _REQUEST, w.rng, v),
        StageFailed,
    ),
)


def _loss(argument: str, perform: Shared) -> Place:
    return replace(
        shared_place("loss_and_gradients", argument, Phase.CLOSED, perform),
        changes=False,
    )


LOSSES: Final = (
    _loss("token_ids", lambda w, v: w.loss(v, PROMPT)),
    _loss("token", lambda w, v: w.loss([0, v], PROMPT)),
    _loss("target_ids", lambda w, v: w.loss(PROMPT, v)),
    _loss("target", lambda w, v: w.loss(PROMPT, [0, v])),
    place_of(
        "loss_and_gradients", "decoder", lambda _, v: loss_and_gradients(v, [0], [0])
    ),
)
