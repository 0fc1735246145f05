"""One call of each kind that is about caches, drawn for the state that a model is in.

Each names only what exists in that state. Whether it is done or refused is drawn too:
whoever wants one of both for sure makes the call himself.
"""

from collections.abc import Callable
from random import Random
from typing import Final, TypeAlias

from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Close,
    Copy,
    Decode,
    NewCache,
    NewDecoder,
    Prefill,
    Reset,
    Restore,
)
from properties.geometry import (
    any_prompt,
    changes,
    strange_token,
    token,
)
from properties.model import Model
from properties.reachable import once_bound

CallMaker: TypeAlias = Callable[[Random, Model], Call]

_LIMIT: Final = 2**64 - 1
# The third is of decodes alone: with it a prompt is taken, and the next token not.
_COUNTERS: Final = (0, 1, 2, 2, 3, 4, 5)
_AGES: Final = (0, 0, 0, 1, 2)


def new_decoder(rng: Random, model: Model) -> NewDecoder:
    """Of the same parameters, or with some of them, or all, rebuilt."""
    decoder, rebuilt = any_decoder(rng, model), rng.choice(_REBUILDS)
    return NewDecoder(decoder=decoder, rebuilt=rebuilt(rng, model))


def restore(rng: Random, model: Model) -> Restore:
    """Of any decoder."""
    return Restore(decoder=any_decoder(rng, model))


def new_cache(rng: Random, model: Model) -> NewCache:
    """One that begins its counters at 0."""
    return NewCache(decoder=any_decoder(rng, model))


def nearly_worn_cache(rng: Random, model: Model) -> NewCache:
    """One with a counter, or two, that have room for a few rows or for none."""
    counts = [0] * 6
    for counter in rng.sample(_COUNTERS, k=rng.choice((1, 1, 2))):
        counts[counter] = _LIMIT - rng.choice((0, 0, 1, 2, 3, rng.randint(0, 60)))
    a, b, c, d, e, f = counts
    return NewCache(decoder=any_decoder(rng, model), work=(a, b, c, d, e, f))


def copy(rng: Random, model: Model) -> Copy:
    """Of any cache, bound or not."""
    return Copy(cache=_cache(rng, model))


def bind(rng: Random, model: Model) -> Bind:
    """Any cache to any decoder."""
    return Bind(cache=_cache(rng, model), decoder=any_decoder(rng, model))


def bind_rebuilt(rng: Random, model: Model) -> BindRebuilt:
    """To equal parameters, which is refused."""
    cache, decoder = _cache(rng, model), any_decoder(rng, model)
    rebuilt = rng.choice((_some, _all))(rng, model)
    return BindRebuilt(cache=cache, decoder=decoder, rebuilt=rebuilt)


def bind_changed(rng: Random, model: Model) -> BindChanged:
    """To another configuration, which is refused."""
    cache, decoder = _cache(rng, model), any_decoder(rng, model)
    changed = rng.choice(changes(model.decoders[decoder].config))
    return BindChanged(cache=cache, decoder=decoder, changes=changed)


def prefill(rng: Random, model: Model) -> Prefill:
    """Any prompt on any session."""
    cache, age = _session(rng, model)
    prompt = any_prompt(rng, model.caches[cache].config)
    return Prefill(cache=cache, age=age, prompt=prompt)


def decode(rng: Random, model: Model) -> Decode:
    """Any token on any session, most of them in the vocabulary."""
    cache, age = _session(rng, model)
    config = model.caches[cache].config
    makers = token, token, token, strange_token
    return Decode(cache=cache, age=age, token_id=rng.choice(makers)(rng, config))


def reset(rng: Random, model: Model) -> Reset:
    """Any session."""
    cache, age = _session(rng, model)
    return Reset(cache=cache, age=age)


def close(rng: Random, model: Model) -> Close:
    """Any session, closed or not."""
    cache, age = _session(rng, model)
    return Close(cache=cache, age=age)


def any_decoder(rng: Random, model: Model) -> int:
    """Any that exists."""
    return rng.choice(range(len(model.decoders)))


def _cache(rng: Random, model: Model) -> int:
    return rng.choice(range(len(model.caches)))


def _session(rng: Random, model: Model) -> tuple[int, int]:
    """A cache that was bound before, and how old the session is."""
    cache = rng.choice(once_bound(model))
    return cache, min(rng.choice(_AGES), len(model.caches[cache].sessions) - 1)


def _none(_rng: Random, _model: Model) -> tuple[int, ...]:
    return ()


def _some(rng: Random, model: Model) -> tuple[int, ...]:
    """One parameter, or two."""
    last = len(model.decoders[0].parameters) - 1
    return tuple(sorted({rng.randint(0, last), rng.randint(0, last)}))


def _all(_rng: Random, model: Model) -> tuple[int, ...]:
    return tuple(range(len(model.decoders[0].parameters)))


def _first(rng: Random, model: Model) -> tuple[int, ...]:
    """All but the last few, or but one, which stay shared."""
    n_parameters = len(model.decoders[0].parameters)
    return tuple(range(n_parameters - rng.choice((1, rng.randint(1, n_parameters)))))


_REBUILDS: Final = (_none, _some, _all, _first)
