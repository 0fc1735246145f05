"""Turns in which calls fail on their way, and are made again."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple, TypeAlias

from properties import decoder_calls
from properties.calls import Call, Decode, Prefill
from properties.geometry import good_prompt, token
from properties.model import Model
from properties.points import Fallible, n_points
from properties.reachable import open_empty, open_with_room
from properties.script import FAULTS, Fault
from properties.turns import anything


class Attempt(NamedTuple):
    """A few calls in a row, and the faults in them by the place of their calls."""

    calls: Sequence[Call]
    faults: Sequence[Fault] = ()


FaultyTurn: TypeAlias = Callable[[Random, Model], Attempt]


def once(rng: Random, model: Model) -> Attempt:
    """A call that fails, and the same call."""
    call = _fallible(rng, model)
    return Attempt([call, call], [_fault(rng, model, 0, call)])


def twice(rng: Random, model: Model) -> Attempt:
    """A second fault while the call is made again."""
    call = _fallible(rng, model)
    faults = [_fault(rng, model, index, call) for index in (0, 1)]
    return Attempt([call, call, call], faults)


def from_then_on(rng: Random, model: Model) -> Attempt:
    """A fault that persists while anything is called, and then is over."""
    call = _fallible(rng, model)
    between = anything(rng, model, rng.randint(0, 2))
    calls = [call, *between, call, call]
    first = _fault(rng, model, 0, call).model_copy(update={"persists": True})
    return Attempt(calls, [first, _fault(rng, model, len(calls) - 2, call)])


def to_the_end(rng: Random, model: Model) -> Attempt:
    """A fault that persists, until a later turn or the end of the script."""
    call = _fallible(rng, model)
    fault = _fault(rng, model, 0, call).model_copy(update={"persists": True})
    return Attempt([call], [fault])


_TURNS: Final[tuple[FaultyTurn, ...]] = (
    *(4 * (once,)),
    *(3 * (twice,)),
    *(2 * (from_then_on,)),
    to_the_end,
)


def failures(rng: Random, model: Model) -> Attempt:
    """Any of these; most are over with the turn."""
    return rng.choice(_TURNS)(rng, model)


def _fallible(rng: Random, model: Model) -> Fallible:
    """A call that succeeds, if nothing is put in."""
    prefills = [
        Prefill(cache=cache, prompt=good_prompt(rng, model.caches[cache].config))
        for cache in open_empty(model)
    ]
    decodes = [
        Decode(cache=cache, token_id=token(rng, model.caches[cache].config))
        for cache in open_with_room(model)
    ]
    calls: tuple[Fallible, ...] = *prefills, *decodes
    return rng.choice((*calls, decoder_calls.good_generate(rng, model)))


def _fault(rng: Random, model: Model, index: int, call: Fallible) -> Fault:
    """At any point, often at the last that is sure, seldom beyond it."""
    last = n_points(model.decoders[0].config, call) - 1
    beyond = last + 1 + rng.randint(0, last)
    point = rng.choice((rng.randint(0, last), rng.randint(0, last), last, beyond))
    return Fault(call=index, point=point, raises=rng.choice(FAULTS))
