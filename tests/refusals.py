"""Every refusal by sessions, caches and constructors: a call, and its error."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from engine import Decoder, DecoderSession, KVCache, Parameter, SplitMix64, Work, errors
from tests.models import ADAMW, EMBEDDING, TINY, World, decoder_of, inside, step_inside

MAX: Final = 2**64 - 1
NAMES: Final = tuple(each.name for each in decoder_of().parameters)
ALL_BUT_ONE_FULL: Final = Work(attention_scores=MAX - 3)


class Case(NamedTuple):
    """A call on a world that must be refused so."""

    make: Callable[[], World]
    call: Callable[[World], object]
    error: errors.EngineError
    says: tuple[object, ...]


class Pair(NamedTuple):
    """A call on a world that two checks would refuse, and the error of the earlier."""

    make: Callable[[], World]
    call: Callable[[World], object]
    error: Exception


def rebuilt(world: World) -> Decoder:
    """Equal values, but the fourth parameter is another object."""
    parameters = list(world.decoder.parameters)
    parameters[3] = Parameter(parameters[3].name, parameters[3].value)
    return Decoder.from_parameters(world.decoder.config, parameters)


def wider(world: World) -> Decoder:
    config = replace(world.decoder.config, capacity=9)
    return Decoder.from_parameters(config, world.decoder.parameters)


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
        ("in use",),
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
