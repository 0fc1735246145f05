"""Every refusal by the objects of a session: a call, and the error that it must be."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from engine import Decoder, DecoderSession, KVCache, Parameter, SplitMix64, Work, errors
from engine.arrays import Array
from tests.models import (
    ADAMW,
    TINY,
    World,
    decoder_of,
    inside,
    ones_for,
    step_inside,
)

MAX: Final = 2**64 - 1
EMBEDDING: Final = "token_embedding.weight"
ALL_BUT_ONE_FULL: Final = Work(attention_scores=MAX - 3)


class Case(NamedTuple):
    """A call on a world that must be refused so."""

    make: Callable[[], World]
    call: Callable[[World], object]
    error: errors.EngineError
    says: tuple[object, ...]


def rebuilt(world: World) -> Decoder:
    """Equal values, but the fourth parameter is another object."""
    parameters = list(world.decoder.parameters)
    parameters[3] = Parameter(parameters[3].name, parameters[3].value)
    return Decoder.from_parameters(world.decoder.config, parameters)


def wider(world: World) -> Decoder:
    config = replace(world.decoder.config, capacity=9)
    return Decoder.from_parameters(config, world.decoder.parameters)


def step(world: World, gradients: list[Array] | None = None) -> int:
    parameters = world.decoder.parameters
    return world.optimizer.step(parameters, gradients or ones_for(parameters))


def step_with(world: World, index: int, gradient: Array) -> int:
    gradients = ones_for(world.decoder.parameters)
    gradients[index] = gradient
    return step(world, gradients)


def step_twice_named(world: World) -> int:
    first = world.decoder.parameters[0]
    return world.optimizer.step([first, first], ones_for([first, first]))


def step_without_the_last(world: World) -> int:
    parameters = world.decoder.parameters[:-1]
    return world.optimizer.step(parameters, ones_for(parameters))


NAMES: Final = tuple(each.name for each in decoder_of().parameters)
HUGE: Final = np.full((2,), 1e200)


def busy(call: Callable[[DecoderSession], object]) -> Case:
    return Case(
        World.closed, lambda w: inside(w, call), errors.SessionBusy(), ("inside",)
    )


CASES: Final = {
    "an empty prompt": Case(
        World.empty, lambda w: w.session.prefill([]), errors.EmptyPrompt(), (0, 1)
    ),
    "a long prompt": Case(
        World.empty,
        lambda w: w.session.prefill([0] * 5),
        errors.PromptTooLong(5, 4),
        (5, 4),
    ),
    "a prompt token": Case(
        World.empty,
        lambda w: w.session.prefill([0, -1]),
        errors.PromptTokenOutOfRange(1, -1, 3),
        (1, -1, "0 … 2"),
    ),
    "a second prompt": Case(
        World.prefilled,
        lambda w: w.session.prefill([0]),
        errors.PrefillRequiresEmpty(2),
        (2,),
    ),
    "no prompt": Case(
        World.empty, lambda w: w.session.decode(0), errors.DecodeRequiresPrefill(), (0,)
    ),
    "a token": Case(
        World.prefilled,
        lambda w: w.session.decode(3),
        errors.DecodeTokenOutOfRange(3, 3),
        (3, "0 … 2"),
    ),
    "a full cache": Case(
        World.full, lambda w: w.session.decode(0), errors.CacheFull(4), (4,)
    ),
    "a closed session, prefill": Case(
        World.closed,
        lambda w: w.session.prefill([0]),
        errors.SessionClosed(),
        ("closed",),
    ),
    "a closed session, decode": Case(
        World.closed, lambda w: w.session.decode(0), errors.SessionClosed(), ("closed",)
    ),
    "a closed session, reset": Case(
        World.closed, lambda w: w.session.reset(), errors.SessionClosed(), ("closed",)
    ),
    "a bound cache": Case(
        World.prefilled,
        lambda w: w.cache.bind(w.decoder),
        errors.CacheInUse(),
        ("bound",),
    ),
    "another configuration": Case(
        World.closed,
        lambda w: w.cache.bind(wider(w)),
        errors.ConfigMismatch("capacity", 4, 9),
        ("capacity=4", 9),
    ),
    "another parameter": Case(
        World.closed,
        lambda w: w.cache.bind(rebuilt(w)),
        errors.ParameterMismatch(3, NAMES[3]),
        (3, NAMES[3]),
    ),
    "a replaced parameter": Case(
        World.stepped,
        lambda w: w.cache.bind(w.decoder),
        errors.ParameterRevisionMismatch(0, EMBEDDING, 0, 1),
        (0, EMBEDDING, "revision 1", "revision 0"),
    ),
    "a bind inside a step": Case(
        World.closed,
        lambda w: step_inside(w.decoder.parameters, lambda: w.cache.bind(w.decoder)),
        errors.ParameterInStep(0, EMBEDDING),
        (0, EMBEDDING),
    ),
    "a prompt that overflows": Case(
        partial(World.empty, work=ALL_BUT_ONE_FULL),
        lambda w: w.session.prefill([0, 1, 2]),
        errors.WorkOverflow("attention_scores"),
        ("attention_scores", "2^64 - 1"),
    ),
    "a token that overflows": Case(
        partial(World.prefilled, work=ALL_BUT_ONE_FULL),
        lambda w: w.session.decode(0),
        errors.WorkOverflow("attention_scores"),
        ("attention_scores", "2^64 - 1"),
    ),
    "a duplicate": Case(
        World.closed,
        step_twice_named,
        errors.DuplicateParameter(EMBEDDING),
        (EMBEDDING,),
    ),
    "another set": Case(
        World.stepped,
        step_without_the_last,
        errors.ParameterSetChanged(NAMES, NAMES[:-1]),
        ("missing ['final_norm.gain']", "surplus []"),
    ),
    "a missing gradient": Case(
        World.closed,
        lambda w: step(w, ones_for(w.decoder.parameters)[:-1]),
        errors.GradientMismatch(
            10, NAMES[10], "there are 11 parameters and 10 gradients"
        ),
        (10, NAMES[10], "11 parameters"),
    ),
    "a surplus gradient": Case(
        World.closed,
        lambda w: step(w, [*ones_for(w.decoder.parameters), np.ones(1)]),
        errors.GradientMismatch(11, "", "there are 11 parameters and 12 gradients"),
        (11, "12 gradients"),
    ),
    "a gradient's shape": Case(
        World.closed,
        lambda w: step_with(w, 1, np.ones(3)),
        errors.GradientMismatch(1, NAMES[1], "has the shape (3,), the parameter (2,)"),
        (1, NAMES[1], (3,), (2,)),
    ),
    "a gradient's value": Case(
        World.closed,
        lambda w: step_with(w, 1, np.array([1, np.nan])),
        errors.GradientMismatch(1, NAMES[1], "has a value that is not finite"),
        (1, NAMES[1], "not finite"),
    ),
    "an update": Case(
        World.closed,
        lambda w: step_with(w, 1, HUGE),
        errors.NonFiniteUpdate(1, NAMES[1]),
        (1, NAMES[1]),
    ),
    "a borrowed parameter": Case(
        World.prefilled, step, errors.ParameterBorrowed(EMBEDDING), (EMBEDDING,)
    ),
    "a step inside a step": Case(
        World.closed,
        lambda w: step_inside(w.decoder.parameters, lambda: step(w)),
        errors.ParameterBorrowed(EMBEDDING),
        (EMBEDDING,),
    ),
    "a size": Case(
        World.prefilled,
        lambda _: replace(TINY, vocab_size=0),
        errors.InvalidConfig("vocab_size", 0, "must be at least 1"),
        ("vocab_size=0", 1),
    ),
    "a counter": Case(
        World.prefilled,
        lambda w: KVCache(w.decoder, work=Work(decode_tokens=-1)),
        errors.InvalidConfig("decode_tokens", -1, "must be at least 0"),
        ("decode_tokens=-1", 0),
    ),
    "a generator's state": Case(
        World.prefilled,
        lambda _: SplitMix64(MAX + 1),
        errors.InvalidConfig("state", MAX + 1, "must be at most 2^64 - 1"),
        (MAX + 1, "2^64 - 1"),
    ),
    "a constant of the optimizer": Case(
        World.prefilled,
        lambda _: replace(ADAMW, beta1=1.0),
        errors.InvalidOptimizerConfig("beta1", 1.0, "must be in [0, 1)"),
        ("beta1=1.0", "[0, 1)"),
    ),
    "a layout": Case(
        World.prefilled,
        lambda w: Decoder.from_parameters(TINY, w.decoder.parameters[1:]),
        errors.ParameterLayout(0, EMBEDDING, f"is named {NAMES[1]}"),
        (0, EMBEDDING, NAMES[1]),
    ),
    "a busy session, prefill": busy(lambda session: session.prefill([0])),
    "a busy session, decode": busy(lambda session: session.decode(0)),
    "a busy session, reset": busy(lambda session: session.reset()),
    "a busy session, close": busy(lambda session: session.close()),
    "a busy session, exit": busy(lambda session: session.__exit__(None, None, None)),
    "a busy session, spare rows": busy(lambda s: s.cache.fill_spare(1.0)),
}
