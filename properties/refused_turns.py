"""Turns whose calls must be refused, most of them, and those of which nobody knows.

What follows a refusal must be what would have followed without it, so each of these
goes before a decode.
"""

from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st

from properties import single_calls as single
from properties.calls import Bind, Call, Decode, Prefill, Reset
from properties.geometry import (
    long_prompts,
    prompts,
    strange_prompts,
    strange_tokens,
    token_ids,
)
from properties.model import Model
from properties.reachable import (
    closed,
    has_room_for_cache,
    has_room_for_decoder,
    open_caches,
    open_empty,
    open_filled,
    owner,
    room,
    stale,
    strangers,
)
from properties.single_calls import CallMaker, one_of
from properties.turns import begin, decodes_of


def bad_prompts(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """Each kind of prompt that a cache which waits for one does not take."""
    cache = one_of(draw, open_empty(model))
    config = model.caches[cache].config
    bad = (), draw(long_prompts(config)), draw(strange_prompts(config))
    return [Prefill(cache=cache, prompt=prompt) for prompt in bad]


def second_prompts(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A prompt for a cache that holds a sequence."""
    cache = one_of(draw, open_filled(model))
    prompt = draw(prompts(model.caches[cache].config))
    return [Prefill(cache=cache, prompt=prompt)]


def early_decodes(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A token where a prompt is due."""
    return decodes_of(draw, model, [one_of(draw, open_empty(model))])


def strange_decodes(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """What is no token, in a full cache too."""
    cache = one_of(draw, open_filled(model))
    strange = strange_tokens(model.caches[cache].config)
    return [Decode(cache=cache, token_id=draw(strange)) for _ in range(2)]


def overflows(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """Tokens up to exactly the capacity, and one more."""
    cache = one_of(draw, open_filled(model))
    return decodes_of(draw, model, (room(model, cache) + 1) * [cache])


def calls_on_closed(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """All that a session does, after its end."""
    cache, age = one_of(draw, closed(model))
    config = model.caches[cache].config
    return [
        Prefill(cache=cache, age=age, prompt=draw(prompts(config))),
        Decode(cache=cache, age=age, token_id=draw(token_ids(config))),
        Reset(cache=cache, age=age),
    ]


def second_binds(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A session of a cache that has one."""
    cache = one_of(draw, open_caches(model))
    return [Bind(cache=cache, decoder=owner(model, cache))]


def strange_binds(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """Decoders that a cache does not belong to, equal as they may be."""
    changed, rebuilt = (
        single.bind_changed(draw, model),
        single.bind_rebuilt(draw, model),
    )
    others = strangers(model, rebuilt.cache)
    return [
        changed,
        rebuilt,
        *(Bind(cache=rebuilt.cache, decoder=other) for other in others),
    ]


def stale_binds(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A cache that a step left behind, and its copy."""
    cache = one_of(draw, stale(model))
    return [Bind(cache=cache, decoder=owner(model, cache))]


def steps_during_sessions(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A step, and one by training, on parameters that a session reads."""
    decoder = owner(model, one_of(draw, open_caches(model)))
    made = single.good_step(draw, model), single.train(draw, model)
    return [each.model_copy(update={"decoder": decoder}) for each in made]


def flawed_steps(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """Steps that no optimizer takes."""
    return [single.flawed_step(draw, model) for _ in range(2)]


def bad_training(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """Tokens and targets of which there is no loss."""
    return [single.refused_train(draw, model) for _ in range(3)]


def bad_requests(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """Generations that nobody may ask for."""
    return [single.refused_generate(draw, model) for _ in range(3)]


def worn_counters(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A cache whose counters have room for a few rows, or for none."""
    return begin(draw, model, single.nearly_worn_cache(draw, model))


_ALWAYS: Final[tuple[CallMaker, ...]] = (
    single.bind,
    single.bind_rebuilt,
    single.bind_changed,
    single.prefill,
    single.decode,
    single.reset,
    single.close,
    single.step,
    single.train,
    single.generate,
)
_WITH_ROOM: Final[tuple[CallMaker, ...]] = (single.new_cache, single.copy)


def anything(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """Calls of every kind in every order."""
    makers = [
        *_ALWAYS,
        *has_room_for_decoder(model) * (single.new_decoder,),
        *has_room_for_cache(model) * _WITH_ROOM,
    ]
    n_calls = draw(st.integers(4, 8))
    return [one_of(draw, makers)(draw, model) for _ in range(n_calls)]


def next_decodes(model: Model, called: Call) -> Sequence[Call]:
    """A token for the cache that was called, if it can be, or for any that has room.

    One that waits for a prompt gets that first. The token is no point of it, so it is
    the same in every run.
    """
    caches = [i for i in open_caches(model) if room(model, i)]
    if not caches:
        return []
    match called:
        case (
            Prefill(cache=cache)
            | Decode(cache=cache)
            | Reset(cache=cache)
            | Bind(cache=cache)
        ) if cache in caches:
            pass
        case _:
            cache = caches[-1]
    length = model.caches[cache].length
    if length:
        token_id = length % model.caches[cache].config.vocab_size
        return [Decode(cache=cache, token_id=token_id)]
    return [Prefill(cache=cache, prompt=(1,)), Decode(cache=cache, token_id=0)]
