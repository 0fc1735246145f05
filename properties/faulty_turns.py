"""Turns in which calls fail on their way, and are made again."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeAlias

from properties import decoder_calls
from properties.calls import Call, Decode, Prefill, Reset
from properties.geometry import good_prompt, token, tokens
from properties.model import Model
from properties.points import Fallible, n_points
from properties.reachable import open_caches, open_with_room
from properties.script import FAULTS, Fault
from properties.turns import anything


class Attempt(NamedTuple):
    """A few calls in a row, and the faults in them by the place of their calls."""

    calls: Sequence[Call]
    faults: Sequence[Fault] = ()


FaultyTurn: TypeAlias = Callable[[Random, Model], Attempt]


def once(rng: Random, model: Model) -> Attempt:
    """A call that fails, and the same call."""
    before, call = _fallible(rng, model)
    fault = _fault(rng, model, len(before), call)
    return Attempt([*before, call, call], [fault])


def twice(rng: Random, model: Model) -> Attempt:
    """A second fault while the call is made again."""
    before, call = _fallible(rng, model)
    n_before = len(before)
    faults = [_fault(rng, model, n_before + index, call) for index in (0, 1)]
    return Attempt([*before, call, call, call], faults)


def from_then_on(rng: Random, model: Model) -> Attempt:
    """A fault that persists while anything is called, and then is over."""
    before, call = _fallible(rng, model)
    between = anything(rng, model, rng.randint(0, 2))
    calls = [*before, call, *between, call, call]
    first = _persisting(_fault(rng, model, len(before), call))
    return Attempt(calls, [first, _fault(rng, model, len(calls) - 2, call)])


def to_the_end(rng: Random, model: Model) -> Attempt:
    """A fault that persists, until a later turn or the end of the script."""
    before, call = _fallible(rng, model)
    fault = _persisting(_fault(rng, model, len(before), call))
    return Attempt([*before, call], [fault])


def once_or_to_the_end(rng: Random, model: Model) -> Attempt:
    """Mostly over with the turn: what persists leaves little else to happen."""
    return rng.choice((once, once, once, to_the_end))(rng, model)


def _fallible(rng: Random, model: Model) -> tuple[Sequence[Call], Fallible]:
    """A call that succeeds, if nothing is put in, and what has to come before it."""
    kinds = [_generate]
    if open_caches(model):
        kinds += [_prefill, _decode, _decode]
    return rng.choice(kinds)(rng, model)


def _generate(rng: Random, model: Model) -> tuple[Sequence[Call], Fallible]:
    return [], decoder_calls.good_generate(rng, model)


def _prefill(rng: Random, model: Model) -> tuple[Sequence[Call], Fallible]:
    cache = rng.choice(open_caches(model))
    prompt = good_prompt(rng, model.caches[cache].config)
    before = [Reset(cache=cache)] if model.caches[cache].length else []
    return before, Prefill(cache=cache, prompt=prompt)


def _decode(rng: Random, model: Model) -> tuple[Sequence[Call], Fallible]:
    """Where there is room, or after a short prompt; a capacity of 1 refuses it."""
    with_room = open_with_room(model)
    cache = rng.choice(with_room or open_caches(model))
    config = model.caches[cache].config
    prompt = Prefill(cache=cache, prompt=tokens(rng, config, 1))
    before: Sequence[Call] = [] if with_room else [Reset(cache=cache), prompt]
    return before, Decode(cache=cache, token_id=token(rng, config))


def _persisting(fault: Fault) -> Fault:
    return fault.model_copy(update={"persists": True})


def _fault(rng: Random, model: Model, index: int, call: Fallible) -> Fault:
    """At any point, often at the last that is sure, seldom beyond it."""
    last = n_points(model.decoders[0].config, call) - 1
    anywhere, beyond = rng.randint(0, last), last + 1 + rng.randint(0, last)
    point = rng.choice((*(5 * [anywhere]), last, last, beyond))
    return Fault(call=index, point=point, raises=rng.choice(FAULTS))
