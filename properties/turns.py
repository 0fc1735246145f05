"""Turns: a few calls in a row that one rule makes, drawn for the state of a model.

Hypothesis takes several hundred microseconds to choose a rule, so a turn has as many
calls as make one point. All are drawn before the first is made: what they name exists.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Final, TypeAlias

from properties import decoder_calls, single_calls as single
from properties.calls import (
    Bind,
    BindChanged,
    Call,
    Changes,
    Close,
    Copy,
    Decode,
    NewCache,
    Prefill,
    Reset,
    Step,
    Train,
)
from properties.geometry import good_prompt, token, tokens
from properties.model import Model
from properties.reachable import (
    MAX_CACHES,
    MAX_DECODERS,
    fresh_and_filled,
    has_room_for_cache,
    once_bound,
    open_caches,
    open_empty,
    open_filled,
    open_with_room,
    owner,
    room,
    strangers,
    unbound_fresh,
)
from properties.single_calls import CallMaker

Turn: TypeAlias = Callable[[Random, Model], Sequence[Call]]

_ALWAYS: Final[tuple[CallMaker, ...]] = (
    single.bind,
    single.bind_rebuilt,
    single.bind_changed,
    single.prefill,
    single.decode,
    single.reset,
    single.close,
    decoder_calls.step,
    decoder_calls.train,
    decoder_calls.refused_train,
    decoder_calls.generate,
)
_NEW_DECODERS: Final[tuple[CallMaker, ...]] = 2 * (single.new_decoder, single.restore)
_NEW_CACHES: Final[tuple[CallMaker, ...]] = 3 * (single.new_cache, single.copy)


def first_prompts(rng: Random, model: Model) -> Sequence[Call]:
    """A prompt for a cache that waits for one, and a token."""
    return filled(rng, model, rng.choice(open_empty(model)))


def decodes(rng: Random, model: Model) -> Sequence[Call]:
    """A few tokens, while there is room."""
    cache = rng.choice(open_with_room(model))
    n_tokens = min(room(model, cache), rng.randint(1, 4))
    return decodes_of(rng, model, n_tokens * [cache])


def interleaved(rng: Random, model: Model) -> Sequence[Call]:
    """Tokens for two open sessions in turn, while there is room."""
    caches = rng.sample(open_with_room(model), k=2)
    n_rounds = min(*(room(model, cache) for cache in caches), rng.randint(1, 3))
    return decodes_of(rng, model, n_rounds * caches)


def second_sequences(rng: Random, model: Model) -> Sequence[Call]:
    """A sequence that is shorter than the one before, and then a longer one."""
    cache = rng.choice(open_filled(model))
    config, length = model.caches[cache].config, model.caches[cache].length
    short = rng.randint(1, max(length - 1, 1))
    long = rng.randint(min(short + 1, config.capacity), config.capacity)
    return [
        Reset(cache=cache),
        Prefill(cache=cache, prompt=tokens(rng, config, short)),
        Reset(cache=cache),
        Prefill(cache=cache, prompt=tokens(rng, config, long)),
        *decodes_of(rng, model, [cache]),
    ]


def resets(rng: Random, model: Model) -> Sequence[Call]:
    """A reset, which leaves a cache that waits for a prompt."""
    return [Reset(cache=rng.choice(open_caches(model)))]


def closes(rng: Random, model: Model) -> Sequence[Call]:
    """A close, and perhaps another one, which does nothing."""
    cache = rng.choice(open_caches(model))
    return rng.randint(1, 2) * [Close(cache=cache)]


def rebinds(rng: Random, model: Model) -> Sequence[Call]:
    """A close and a bind, after which everything goes on, but for the old session."""
    cache = rng.choice(open_caches(model))
    close, bind = Close(cache=cache), Bind(cache=cache, decoder=owner(model, cache))
    old = Reset(cache=cache, age=1), Close(cache=cache, age=1)
    return [close, bind, *old, *decodes_of(rng, model, [cache]), *old]


def binds(rng: Random, model: Model) -> Sequence[Call]:
    """A session of a cache that has none, and is not stale."""
    cache = rng.choice(unbound_fresh(model))
    bind = Bind(cache=cache, decoder=owner(model, cache))
    old = Reset(cache=cache, age=1), Close(cache=cache, age=1)
    older = old if model.caches[cache].sessions else ()
    return [bind, *older, *decodes_of(rng, model, [cache])]


def new_sessions(rng: Random, model: Model) -> Sequence[Call]:
    """A cache, a session and a prompt."""
    return begin(rng, model, single.new_cache(rng, model), len(model.caches))


def copies(rng: Random, model: Model) -> Sequence[Call]:
    """A copy, bound where it can be, and tokens for both."""
    copied, copy = rng.choice(open_with_room(model)), len(model.caches)
    return [
        Copy(cache=copied),
        Bind(cache=copy, decoder=owner(model, copied)),
        *decodes_of(rng, model, (copy, copied, copy)),
    ]


def shares(rng: Random, model: Model) -> Sequence[Call]:
    """One more decoder, of another's parameters or a file's, and a cache in use."""
    decoder = rng.choice(_NEW_DECODERS)(rng, model)
    new = NewCache(decoder=len(model.decoders))
    return [decoder, *begin(rng, model, new, len(model.caches))]


def steps_between_sessions(rng: Random, model: Model) -> Sequence[Call]:
    """A step that replaces what no session reads."""
    return _between_sessions(rng, model, decoder_calls.good_step(rng, model))


def training_between_sessions(rng: Random, model: Model) -> Sequence[Call]:
    """The same, on the gradients of a loss."""
    return _between_sessions(rng, model, decoder_calls.good_train(rng, model))


def _between_sessions(rng: Random, model: Model, made: Step | Train) -> Sequence[Call]:
    """Everything closed, a step on an old cache's decoder, and a new cache in use."""
    filled = rng.choice((True, False)) and fresh_and_filled(model)
    old = rng.choice(filled or once_bound(model))
    step = made.model_copy(update={"decoder": owner(model, old)})
    bind = Bind(cache=old, decoder=step.decoder)  # the second one is refused
    strange = [Bind(cache=old, decoder=each) for each in strangers(model, old)]
    looks = [rng.choice(_looks(rng, model, old)) for _ in range(2)]
    closed = [*closes_of(model), bind, Close(cache=old), *strange]
    return [*closed, step, bind, *looks, *_begun_and_stepped(rng, model, step)]


def _begun_and_stepped(rng: Random, model: Model, step: Step | Train) -> Sequence[Call]:
    """A new cache in use, which the same step makes stale too; and one after that."""
    if not has_room_for_cache(model):
        return []
    cache, new = len(model.caches), NewCache(decoder=step.decoder)
    first = begin(rng, model, new, cache)
    return [*first, Close(cache=cache), step, *begin(rng, model, new, cache + 1)]


def _looks(rng: Random, model: Model, old: int) -> Sequence[Call]:
    """What leaves a stale cache in focus."""
    decoder = owner(model, old)
    return (
        Close(cache=old),
        BindChanged(cache=old, decoder=decoder, changes=Changes(rms_epsilon=0.5)),
        single.new_decoder(rng, model),
        decoder_calls.train(rng, model),
        decoder_calls.good_step(rng, model),
    )


def steps_on_a_subset(rng: Random, model: Model) -> Sequence[Call]:
    """A step that leaves a parameter out, which holds all later ones to its subset."""
    subset = decoder_calls.subset_step(rng, model)
    new = NewCache(decoder=subset.decoder)
    after = begin(rng, model, new, len(model.caches))
    return [*closes_of(model), subset, decoder_calls.train(rng, model), *after]


def generations(rng: Random, model: Model) -> Sequence[Call]:
    """A generation, which leaves nothing behind."""
    return [decoder_calls.good_generate(rng, model)]


def anything(rng: Random, model: Model, n_calls: int) -> Sequence[Call]:
    """Calls of every kind in every order."""
    makers = [
        *_ALWAYS,
        *(len(model.decoders) < MAX_DECODERS) * _NEW_DECODERS,
        *(len(model.caches) < MAX_CACHES) * _NEW_CACHES,
    ]
    return [rng.choice(makers)(rng, model) for _ in range(n_calls)]


def decodes_of(rng: Random, model: Model, caches: Iterable[int]) -> Sequence[Call]:
    """Any token for each of these caches, in this order."""
    return [
        Decode(cache=cache, token_id=token(rng, model.decoders[0].config))
        for cache in caches
    ]


def filled(rng: Random, model: Model, cache: int) -> Sequence[Call]:
    """A prompt for a cache that is empty, and a token, which a full one refuses."""
    prompt = good_prompt(rng, model.decoders[0].config)
    return [Prefill(cache=cache, prompt=prompt), *decodes_of(rng, model, [cache])]


def begin(rng: Random, model: Model, new: NewCache, cache: int) -> Sequence[Call]:
    """The new cache, by its number, a session of it, a prompt, and a token."""
    bind = Bind(cache=cache, decoder=new.decoder)
    return [new, bind, *filled(rng, model, cache)]


def closes_of(model: Model) -> Sequence[Call]:
    """No session is left open."""
    return [Close(cache=cache) for cache in open_caches(model)]


def nothing(_rng: Random, _model: Model) -> Sequence[Call]:
    """No call, so that what follows is all there is."""
    return []
