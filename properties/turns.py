"""Turns: a few calls in a row that one rule makes, drawn for the state of a model.

Hypothesis takes several hundred microseconds to choose a rule, so a turn has as many
calls as make one point. All are drawn before the first is made: what they name exists.
"""

from random import Random
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from properties import single_calls as single
from properties.calls import Bind, Call, Close, Copy, Decode, NewCache, Prefill, Reset
from properties.geometry import prompts, token_ids
from properties.model import Model
from properties.reachable import (
    MAX_CACHES,
    MAX_DECODERS,
    open_caches,
    open_empty,
    open_filled,
    open_with_room,
    owner,
    room,
    unbound_fresh,
)
from properties.single_calls import CallMaker, StepMaker, one_of

Turn: TypeAlias = Callable[[Random, Model], Sequence[Call]]


def first_prompts(rng: Random, model: Model) -> Sequence[Call]:
    """A prompt for a cache that waits for one, and a token; a full cache refuses it."""
    cache = rng.choice(open_empty(model))
    prompt = good_prompt(rng, model.caches[cache].config))
    return [Prefill(cache=cache, prompt=prompt), *decodes_of(rng, model, [cache])]


def decodes(rng: Random, model: Model) -> Sequence[Call]:
    """A few tokens, while there is room."""
    cache = rng.choice(open_with_room(model))
    n_tokens = min(room(model, cache), draw(st.integers(1, 4)))
    return decodes_of(rng, model, n_tokens * [cache])


def interleaved(rng: Random, model: Model) -> Sequence[Call]:
    """Tokens for open sessions in any order."""
    caches = open_with_room(model)
    n_tokens = draw(st.integers(2, 6))
    return decodes_of(rng, model, [rng.choice(caches) for _ in range(n_tokens)])


def second_sequences(rng: Random, model: Model) -> Sequence[Call]:
    """A reset, and a sequence that is shorter or longer than the first."""
    cache = rng.choice(open_filled(model))
    config, length = model.caches[cache].config, model.caches[cache].length
    shorter, longer = max(length - 1, 1), min(length + 1, config.capacity)
    n_tokens = rng.choice((shorter, longer, 1))
    prompt = tuple(token(rng, config)) for _ in range(n_tokens))
    return [
        Reset(cache=cache),
        Prefill(cache=cache, prompt=prompt),
        *decodes_of(rng, model, [cache]),
    ]


def resets(rng: Random, model: Model) -> Sequence[Call]:
    """A reset, which leaves a cache that waits for a prompt."""
    return [Reset(cache=rng.choice(open_caches(model)))]


def closes(rng: Random, model: Model) -> Sequence[Call]:
    """A close, and perhaps another one, which does nothing."""
    cache = rng.choice(open_caches(model))
    return draw(st.integers(1, 2)) * [Close(cache=cache)]


def rebinds(rng: Random, model: Model) -> Sequence[Call]:
    """A close and a bind, after which everything goes on."""
    cache = rng.choice(open_caches(model))
    close, bind = Close(cache=cache), Bind(cache=cache, decoder=owner(model, cache))
    return [close, bind, *decodes_of(rng, model, [cache])]


def binds(rng: Random, model: Model) -> Sequence[Call]:
    """A session of a cache that has none, and is not stale."""
    cache = rng.choice(unbound_fresh(model))
    bind = Bind(cache=cache, decoder=owner(model, cache))
    return [bind, *decodes_of(rng, model, [cache])]


def new_sessions(rng: Random, model: Model) -> Sequence[Call]:
    """A cache, a session and a prompt."""
    return begin(rng, model, single.new_cache(rng, model))


def copies(rng: Random, model: Model) -> Sequence[Call]:
    """A copy, bound where it can be, and tokens for both."""
    copied, copy = rng.choice(open_caches(model)), len(model.caches)
    tokens = token_ids(model.caches[copied].config)
    return [
        Copy(cache=copied),
        Bind(cache=copy, decoder=owner(model, copied)),
        *(Decode(cache=each, token_id=draw(tokens)) for each in (copy, copied, copy)),
    ]


def shares(rng: Random, model: Model) -> Sequence[Call]:
    """A decoder that shares parameters with another, and a cache of each in use."""
    decoder = single.new_decoder(rng, model)
    return [decoder, *begin(rng, model, NewCache(decoder=len(model.decoders)))]


def steps_between_sessions(rng: Random, model: Model) -> Sequence[Call]:
    """Everything closed, a step, an old cache refused, and a new one in use."""
    makers: tuple[StepMaker, ...] = single.good_step, single.train
    step = rng.choice(makers)(rng, model)
    old = Bind(cache=draw(st.integers(0, len(model.caches) - 1)), decoder=step.decoder)
    new = NewCache(decoder=step.decoder)
    return [*closes_of(model), step, old, *begin(rng, model, new)]


def generations(rng: Random, model: Model) -> Sequence[Call]:
    """A generation, which leaves nothing behind."""
    return [single.good_generate(rng, model)]


_FEW: Final = st.integers(0, 4)
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
_NEW_CACHES: Final[tuple[CallMaker, ...]] = (single.new_cache, single.copy)


def anything(rng: Random, model: Model) -> Sequence[Call]:
    """Calls of every kind in every order."""
    makers = [
        *_ALWAYS,
        *(len(model.decoders) < MAX_DECODERS) * (single.new_decoder,),
        *(len(model.caches) < MAX_CACHES) * _NEW_CACHES,
    ]
    n_calls = draw(_FEW)
    return [rng.choice(makers)(rng, model) for _ in range(n_calls)]


def decodes_of(rng: Random, model: Model, caches: Iterable[int]) -> Sequence[Call]:
    """Any token for each of these caches, in this order."""
    return [
        Decode(cache=cache, token_id=token(rng, model.decoders[0].config)))
        for cache in caches
    ]


def begin(rng: Random, model: Model, new: NewCache) -> Sequence[Call]:
    """The new cache, a session of it, a prompt, and a token."""
    cache = len(model.caches)
    bind = Bind(cache=cache, decoder=new.decoder)
    prompt = good_prompt(rng, model.decoders[0].config))
    prefill = Prefill(cache=cache, prompt=prompt)
    return [new, bind, prefill, *decodes_of(rng, model, [cache])]


def closes_of(model: Model) -> Sequence[Call]:
    """No session is left open."""
    return [Close(cache=cache) for cache in open_caches(model)]
