"""Turns in which calls must be refused.

What follows a refusal must be what would have followed without it: a token comes next,
wherever there is room.
"""

from collections.abc import Sequence
from random import Random

from properties import decoder_calls, single_calls as single
from properties.calls import Bind, Call, Decode, Prefill, Reset
from properties.geometry import (
    bad_prompts,
    good_prompt,
    strange_token,
    token,
    tokens,
)
from properties.model import Model
from properties.reachable import (
    closed,
    open_caches,
    open_empty,
    open_filled,
    owner,
    room,
    stale,
    strangers,
)
from properties.turns import Turn, decodes_of, filled


def bad_first_prompts(rng: Random, model: Model) -> Sequence[Call]:
    """Every kind of prompt that an empty cache does not take, and one that it takes."""
    cache = rng.choice(open_caches(model))
    bad = bad_prompts(rng, model.caches[cache].config)
    prefills = [Prefill(cache=cache, prompt=prompt) for prompt in bad]
    return [Reset(cache=cache), *prefills, *filled(rng, model, cache)]


def second_prompts(rng: Random, model: Model) -> Sequence[Call]:
    """A prompt for a cache that holds a sequence."""
    cache = rng.choice(open_filled(model))
    prompt = good_prompt(rng, model.caches[cache].config)
    return [Prefill(cache=cache, prompt=prompt)]


def early_decodes(rng: Random, model: Model) -> Sequence[Call]:
    """A token where a prompt is due."""
    return decodes_of(rng, model, [rng.choice(open_empty(model))])


def strange_decodes(rng: Random, model: Model) -> Sequence[Call]:
    """What is no token, in a full cache too."""
    cache = rng.choice(open_filled(model))
    config = model.caches[cache].config
    strange = [strange_token(rng, config), strange_token(rng, config), True]
    return [Decode(cache=cache, token_id=each) for each in strange]


def overflows(rng: Random, model: Model) -> Sequence[Call]:
    """Tokens up to exactly the capacity, and one more."""
    cache = rng.choice(open_filled(model))
    return decodes_of(rng, model, (room(model, cache) + 1) * [cache])


def calls_on_closed(rng: Random, model: Model) -> Sequence[Call]:
    """All that a session does, after its end."""
    cache, age = rng.choice(closed(model))
    config = model.caches[cache].config
    return [
        Prefill(cache=cache, age=age, prompt=good_prompt(rng, config)),
        Decode(cache=cache, age=age, token_id=token(rng, config)),
        Reset(cache=cache, age=age),
    ]


def second_binds(rng: Random, model: Model) -> Sequence[Call]:
    """A session of a cache that has one."""
    cache = rng.choice(open_caches(model))
    return [Bind(cache=cache, decoder=owner(model, cache))]


def strange_binds(rng: Random, model: Model) -> Sequence[Call]:
    """Decoders that a cache does not belong to, equal as they may be."""
    changed, rebuilt = (
        single.bind_changed(rng, model),
        single.bind_rebuilt(rng, model),
    )
    others = strangers(model, rebuilt.cache)
    return [
        changed,
        rebuilt,
        *(Bind(cache=rebuilt.cache, decoder=other) for other in others),
    ]


def stale_binds(rng: Random, model: Model) -> Sequence[Call]:
    """A cache that a step left behind, and its copy."""
    cache = rng.choice(stale(model))
    return [Bind(cache=cache, decoder=owner(model, cache))]


def steps_during_sessions(rng: Random, model: Model) -> Sequence[Call]:
    """A step, and one by training, on parameters that a session reads."""
    decoder = owner(model, rng.choice(open_caches(model)))
    made = decoder_calls.good_step(rng, model), decoder_calls.train(rng, model)
    return [each.model_copy(update={"decoder": decoder}) for each in made]


def flawed_steps(rng: Random, model: Model) -> Sequence[Call]:
    """Steps that no optimizer takes."""
    return [decoder_calls.flawed_step(rng, model) for _ in range(2)]


def bad_training(rng: Random, model: Model) -> Sequence[Call]:
    """Tokens and targets of which there is no loss."""
    return [decoder_calls.refused_train(rng, model) for _ in range(2)]


def bad_requests(rng: Random, model: Model) -> Sequence[Call]:
    """Generations that nobody may ask for."""
    return [decoder_calls.refused_generate(rng, model) for _ in range(2)]


def worn_counters(rng: Random, model: Model) -> Sequence[Call]:
    """A cache whose counters have room for a few rows, or for none, until its reset."""
    cache, new = len(model.caches), single.nearly_worn_cache(rng, model)
    config = model.decoders[0].config
    bad = Prefill(cache=cache, prompt=rng.choice(bad_prompts(rng, config)))
    short = tokens(rng, config, 1)
    longer = rng.choice((short, good_prompt(rng, config)))
    prompt = Prefill(cache=cache, prompt=longer)
    few, again = decodes_of(rng, model, 4 * [cache]), filled(rng, model, cache)
    bind = Bind(cache=cache, decoder=new.decoder)
    return [new, bind, bad, prompt, *few, *again, Reset(cache=cache), *again]


def before_a_decode(refused: Turn) -> Turn:
    """The turn, and a token for the cache that it named, or for any that has room."""

    def turn(rng: Random, model: Model) -> Sequence[Call]:
        calls = refused(rng, model)
        return [*calls, *_next_tokens(rng, model, calls[-1])]

    return turn


def _next_tokens(rng: Random, model: Model, called: Call) -> Sequence[Call]:
    caches = [i for i in open_caches(model) if room(model, i)]
    if not caches:
        return []
    cache = rng.choice(caches)
    if isinstance(called, Prefill | Decode | Bind) and called.cache in caches:
        cache = called.cache
    if model.caches[cache].length:
        return decodes_of(rng, model, [cache])
    return filled(rng, model, cache)
