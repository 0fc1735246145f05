"""A call that two checks would refuse is refused by the earlier one."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import pytest

from engine import Decoder, DecoderSession, Parameter, Work, errors
from tests.models import PROMPT, TINY, World, decoder_of, facts, inside, step_inside
from tests.refusals import MAX, NAMES, Pair
from tests.step_refusals import STEP_PAIRS, step_only

NO_ROOM: Final = Work(token_forwards=MAX - len(PROMPT))
NO_ROOM_AT_ALL: Final = Work(token_forwards=MAX)


def other(world: World, replaced: int, **sizes: int) -> Decoder:
    """A decoder that shares all parameters but one, and perhaps not its sizes."""
    parameters = list(world.decoder.parameters)
    fresh = Parameter(parameters[replaced].name, parameters[replaced].value)
    parameters[replaced] = fresh
    config = replace(world.decoder.config, **sizes)  # type: ignore[arg-type] # counts, none of them a dtype
    return Decoder.from_parameters(config, parameters)


def stepped_at(*indices: int) -> World:
    """Only some parameters were replaced since the cache was made."""
    world = World.closed()
    step_only(world, *indices)
    return world


def in_step(world: World, *indices: int) -> None:
    """Bind while a step is inside some parameters."""
    parameters = world.decoder.parameters
    chosen = [parameters[index] for index in indices] or parameters
    step_inside(chosen, lambda: world.cache.bind(world.decoder))


def closed_and_busy(call: Callable[[DecoderSession], object]) -> Pair:
    """A closed session of a cache that another session is inside."""
    return Pair(
        World.closed,
        lambda w: inside(w, lambda _: call(w.session)),
        errors.SessionClosed(),
    )


BIND: Final = {
    "the first of two fields": Pair(
        World.closed,
        lambda w: w.cache.bind(other(w, 0, capacity=5, rope_base=7)),
        errors.ConfigMismatch("capacity", 4, 5),
    ),
    "configuration before identity": Pair(
        World.closed,
        lambda w: w.cache.bind(other(w, 0, rms_epsilon=1)),
        errors.ConfigMismatch("rms_epsilon", 1e-6, 1.0),
    ),
    "the first of all identities": Pair(
        World.closed,
        lambda w: w.cache.bind(decoder_of()),
        errors.ParameterMismatch(0, NAMES[0]),
    ),
    "identity before revision": Pair(
        World.stepped,
        lambda w: w.cache.bind(other(w, 10)),
        errors.ParameterMismatch(10, NAMES[10]),
    ),
    "identity before use": Pair(
        World.prefilled,
        lambda w: w.cache.bind(other(w, 10)),
        errors.ParameterMismatch(10, NAMES[10]),
    ),
    "the first of two revisions": Pair(
        partial(stepped_at, 7, 2),
        lambda w: w.cache.bind(w.decoder),
        errors.ParameterRevisionMismatch(2, NAMES[2], 0, 1),
    ),
    "revision before step": Pair(
        partial(stepped_at, 7),
        in_step,
        errors.ParameterRevisionMismatch(7, NAMES[7], 0, 1),
    ),
    "use before step": Pair(World.prefilled, in_step, errors.CacheInUse()),
    "the first of two steps": Pair(
        World.closed,
        lambda w: in_step(w, 7, 2),
        errors.ParameterInStep(2, NAMES[2]),
    ),
}

PREFILL: Final = {
    "open before entered": closed_and_busy(lambda session: session.prefill([])),
    "entered before empty prompt": Pair(
        World.closed,
        lambda w: inside(w, lambda session: session.prefill([])),
        errors.SessionBusy(),
    ),
    "empty prompt before cache": Pair(
        World.prefilled, lambda w: w.session.prefill([]), errors.EmptyPrompt()
    ),
    "cache before fit": Pair(
        World.prefilled,
        lambda w: w.session.prefill([9] * 5),
        errors.PrefillRequiresEmpty(2),
    ),
    "fit before tokens": Pair(
        World.empty,
        lambda w: w.session.prefill([9] * 5),
        errors.PromptTooLong(5, 4),
    ),
    "the first of two tokens": Pair(
        World.empty,
        lambda w: w.session.prefill([0, 9, True]),
        errors.PromptTokenOutOfRange(1, 9, 3),
    ),
    "tokens before counters": Pair(
        partial(World.empty, work=NO_ROOM_AT_ALL),
        lambda w: w.session.prefill([0, 9]),
        errors.PromptTokenOutOfRange(1, 9, 3),
    ),
    "the first of two counters": Pair(
        partial(World.empty, work=Work(cache_appends=MAX, prefill_tokens=MAX)),
        lambda w: w.session.prefill([0]),
        errors.WorkOverflow("prefill_tokens"),
    ),
}

DECODE: Final = {
    "open before entered": closed_and_busy(lambda session: session.decode(9)),
    "entered before token": Pair(
        World.closed,
        lambda w: inside(w, lambda session: session.decode(9)),
        errors.SessionBusy(),
    ),
    "prompt before token": Pair(
        World.empty, lambda w: w.session.decode(9), errors.DecodeRequiresPrefill()
    ),
    "prompt before counters": Pair(
        partial(World.empty, work=NO_ROOM_AT_ALL),
        lambda w: w.session.decode(0),
        errors.DecodeRequiresPrefill(),
    ),
    "token before room": Pair(
        World.full,
        lambda w: w.session.decode(9),
        errors.DecodeTokenOutOfRange(9, 3),
    ),
    "room before counters": Pair(
        partial(World.prefilled, replace(TINY, capacity=2), NO_ROOM),
        lambda w: w.session.decode(0),
        errors.CacheFull(2),
    ),
}

PAIRS: Final = {
    f"{row}: {name}": pair
    for row, pairs in {
        "bind": BIND,
        "prefill": PREFILL,
        "decode": DECODE,
        "reset": {"open before entered": closed_and_busy(DecoderSession.reset)},
        "step": STEP_PAIRS,
    }.items()
    for name, pair in pairs.items()
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_earlier_check_decides(pair: Pair) -> None:
    world = pair.make()
    before = world.everything()

    with pytest.raises(type(pair.error)) as refusal:
        pair.call(world)

    assert facts(refusal.value) == facts(pair.error)
    assert world.everything() == before


def test_earlier_check_decides_when_a_token_is_no_integer() -> None:
    world = World.empty()

    with pytest.raises(TypeError):
        world.session.prefill([True, 9])
    with pytest.raises(errors.PromptTooLong):
        world.session.prefill([True] * 5)
    with pytest.raises(errors.DecodeRequiresPrefill):
        world.session.decode(True)  # noqa: FBT003 # what is no token ID


def test_closed_session_closes_inside_another() -> None:
    world = World.closed()

    assert inside(world, lambda _: world.session.close()) is None
