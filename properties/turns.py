"""Turns: a few calls in a row that one rule makes, drawn for the state of a model.

Hypothesis takes several hundred microseconds to choose a rule, so a turn has as many
calls as make one point. All are drawn before the first is made: what they name exists.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from hypothesis import strategies as st

from properties import single_calls as single
from properties.calls import Bind, Call, Close, Copy, Decode, NewCache, Prefill, Reset
from properties.geometry import prompts, token_ids
from properties.model import Model
from properties.reachable import (
    open_caches,
    open_empty,
    open_filled,
    open_with_room,
    owner,
    room,
    unbound_fresh,
)
from properties.single_calls import StepMaker, one_of

Turn: TypeAlias = Callable[[st.DrawFn, Model], Sequence[Call]]


def first_prompts(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A prompt for a cache that waits for one, and a token; a full cache refuses it."""
    cache = one_of(draw, open_empty(model))
    prompt = draw(prompts(model.caches[cache].config))
    return [Prefill(cache=cache, prompt=prompt), *decodes_of(draw, model, [cache])]


def decodes(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A few tokens, while there is room."""
    cache = one_of(draw, open_with_room(model))
    n_tokens = min(room(model, cache), draw(st.integers(1, 4)))
    return decodes_of(draw, model, n_tokens * [cache])


def interleaved(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """Tokens for open sessions in any order."""
    caches = open_with_room(model)
    n_tokens = draw(st.integers(2, 6))
    return decodes_of(draw, model, [one_of(draw, caches) for _ in range(n_tokens)])


def second_sequences(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A reset, and a sequence that is shorter or longer than the first."""
    cache = one_of(draw, open_filled(model))
    config, length = model.caches[cache].config, model.caches[cache].length
    shorter, longer = max(length - 1, 1), min(length + 1, config.capacity)
    n_tokens = one_of(draw, (shorter, longer, 1))
    prompt = tuple(draw(token_ids(config)) for _ in range(n_tokens))
    return [
        Reset(cache=cache),
        Prefill(cache=cache, prompt=prompt),
        *decodes_of(draw, model, [cache]),
    ]


def resets(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A reset, which leaves a cache that waits for a prompt."""
    return [Reset(cache=one_of(draw, open_caches(model)))]


def closes(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A close, and perhaps another one, which does nothing."""
    cache = one_of(draw, open_caches(model))
    return draw(st.integers(1, 2)) * [Close(cache=cache)]


def rebinds(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A close and a bind, after which everything goes on."""
    cache = one_of(draw, open_caches(model))
    close, bind = Close(cache=cache), Bind(cache=cache, decoder=owner(model, cache))
    return [close, bind, *decodes_of(draw, model, [cache])]


def binds(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A session of a cache that has none, and is not stale."""
    cache = one_of(draw, unbound_fresh(model))
    bind = Bind(cache=cache, decoder=owner(model, cache))
    return [bind, *decodes_of(draw, model, [cache])]


def new_sessions(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A cache, a session and a prompt."""
    return begin(draw, model, single.new_cache(draw, model))


def copies(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A copy, bound where it can be, and tokens for both."""
    copied, copy = one_of(draw, open_caches(model)), len(model.caches)
    tokens = token_ids(model.caches[copied].config)
    return [
        Copy(cache=copied),
        Bind(cache=copy, decoder=owner(model, copied)),
        *(Decode(cache=each, token_id=draw(tokens)) for each in (copy, copied, copy)),
    ]


def shares(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A decoder that shares parameters with another, and a cache of each in use."""
    decoder = single.new_decoder(draw, model)
    return [decoder, *begin(draw, model, NewCache(decoder=len(model.decoders)))]


def steps_between_sessions(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """Everything closed, a step, an old cache refused, and a new one in use."""
    makers: tuple[StepMaker, ...] = single.good_step, single.train
    step = one_of(draw, makers)(draw, model)
    old = Bind(cache=draw(st.integers(0, len(model.caches) - 1)), decoder=step.decoder)
    new = NewCache(decoder=step.decoder)
    return [*closes_of(model), step, old, *begin(draw, model, new)]


def generations(draw: st.DrawFn, model: Model) -> Sequence[Call]:
    """A generation, which leaves nothing behind."""
    return [single.good_generate(draw, model)]


def decodes_of(draw: st.DrawFn, model: Model, caches: Iterable[int]) -> Sequence[Call]:
    """Any token for each of these caches, in this order."""
    return [
        Decode(cache=cache, token_id=draw(token_ids(model.decoders[0].config)))
        for cache in caches
    ]


def begin(draw: st.DrawFn, model: Model, new: NewCache) -> Sequence[Call]:
    """The new cache, a session of it, a prompt, and a token."""
    cache = len(model.caches)
    bind = Bind(cache=cache, decoder=new.decoder)
    prompt = draw(prompts(model.decoders[0].config))
    prefill = Prefill(cache=cache, prompt=prompt)
    return [new, bind, prefill, *decodes_of(draw, model, [cache])]


def closes_of(model: Model) -> Sequence[Call]:
    """No session is left open."""
    return [Close(cache=cache) for cache in open_caches(model)]
