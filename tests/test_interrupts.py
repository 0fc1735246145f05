"""An interrupt between any two bytecodes leaves the state before the call, or after."""

import copy
from collections.abc import Callable
from functools import partial

import pytest

from engine import (
    BindingError,
    CacheInUse,
    EngineError,
    KVCache,
    ParameterBorrowed,
)
from tests.interruption import Scene, by_event, sweep
from tests.models import (
    PROMPT,
    World,
    bits_of,
    logical,
    step_once,
)
from tests.undisturbed import EXPECTED

pytestmark = pytest.mark.usefixtures("no_collector_callbacks", "traced_bytecodes")


def finish(world: World) -> None:
    """Go on with an open session from any length, and give back every borrow."""
    if world.cache.length == 0:
        assert bits_of(world.session.prefill(PROMPT)) == EXPECTED.outputs[0]
    if world.cache.length == len(PROMPT):
        assert bits_of(world.session.decode(2)) == EXPECTED.outputs[1]
    assert bits_of(world.session.decode(1)) == EXPECTED.outputs[2]
    assert logical(world.cache) == EXPECTED.states[3]
    with pytest.raises(ParameterBorrowed, match="token_embedding"):
        step_once(world.decoder)
    world.session.close()
    world.cache.bind(world.decoder).close()
    step_once(world.decoder)


def tolerated(call: Callable[[], object], error: type[EngineError]) -> None:
    try:
        call()
    except error:
        return


def session_scene(world: World, call: Callable[[], object], *states: int) -> Scene:
    """The cache is in one of some undisturbed states, and the session goes on."""

    def check() -> None:
        assert logical(world.cache) in [EXPECTED.states[each] for each in states]
        finish(world)

    return Scene(call, check)


def prefill() -> Scene:
    world = World.empty()
    return session_scene(world, lambda: world.session.prefill(PROMPT), 0, 1)


def decode() -> Scene:
    world = World.prefilled()
    return session_scene(world, lambda: world.session.decode(2), 1, 2)


def reset() -> Scene:
    world = World.prefilled()
    return session_scene(world, world.session.reset, 0, 1)


def fill_spare() -> Scene:
    world = World.prefilled()
    return session_scene(world, lambda: world.cache.fill_spare(7.0), 1)


def copy_of_a_cache() -> Scene:
    world = World.prefilled()
    return session_scene(world, lambda: copy.copy(world.cache), 1)


def refused_decode() -> Scene:
    world = World.prefilled()
    call = world.session.decode
    return session_scene(world, lambda: tolerated(lambda: call(9), EngineError), 1)


def failed_decode() -> Scene:
    """The probe fails, and the decode puts back what it wrote."""
    world = World.prefilled()
    world.session.close()
    failing = [True]

    def fail(*_: object) -> None:
        if failing:
            raise LookupError

    world.session = world.cache.bind(world.decoder, probe=fail)
    decode = world.session.decode

    def check() -> None:
        failing.clear()
        assert logical(world.cache) == EXPECTED.states[1]
        finish(world)

    return Scene(lambda: tolerated(lambda: decode(2), EngineError), check)


def refused_bind_in_use() -> Scene:
    world = World.prefilled()
    bind = world.cache.bind
    refused = partial(tolerated, lambda: bind(world.decoder), CacheInUse)
    return session_scene(world, refused, 1)


def refused_bind_when_stale() -> Scene:
    world = World.stepped()
    bind = world.cache.bind
    refused = partial(tolerated, lambda: bind(world.decoder), BindingError)
    return Scene(refused, lambda: step_once(world.decoder))


def bind() -> Scene:
    world = World.closed()

    def check() -> None:
        step_once(world.decoder)
        with KVCache(world.decoder).bind(world.decoder) as session:
            session.prefill(PROMPT)

    return Scene(lambda: world.cache.bind(world.decoder), check)


def closing(leave: Callable[[World], object]) -> Scene:
    """The session is open with all of its borrows, or closed with none."""
    world = World.prefilled()

    def check() -> None:
        assert logical(world.cache) == EXPECTED.states[1]
        try:
            world.cache.bind(world.decoder).close()
        except CacheInUse:
            finish(world)
        else:
            world.session.close()
            step_once(world.decoder)

    return Scene(lambda: leave(world), check)


def close() -> Scene:
    return closing(lambda world: world.session.close())


def with_exit() -> Scene:
    def leave(world: World) -> None:
        with world.session:
            pass

    return closing(leave)


@pytest.mark.parametrize(
    "arrange",
    [
        prefill,
        decode,
        reset,
        fill_spare,
        copy_of_a_cache,
        refused_decode,
        failed_decode,
        bind,
        refused_bind_in_use,
        refused_bind_when_stale,
        close,
        with_exit,
    ],
)
def test_interrupted_call_happened_or_did_not(arrange: Callable[[], Scene]) -> None:
    assert sweep(arrange) > 0


# What is raised while the collector closes a generator, Python can only report.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("arrange", [prefill, decode, bind, close])
def test_call_interrupted_in_a_function_happened_or_did_not(
    arrange: Callable[[], Scene],
) -> None:
    assert sweep(arrange, by_event) > 0
