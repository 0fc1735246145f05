"""Opening and closing a session, and whatever comes instead."""

import gc
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Final

from engine import Decoder, Parameter
from engine.arrays import Array
from properties.interrupts.scene import Arrange, Scene, each_refused, refused
from properties.interrupts.world import NO_BLOCK, World, ones_for
from properties.lives import held


def _bind() -> Scene:
    world = World.unbound()

    def call() -> None:
        world.bind()

    return world.scene(call)


def _bind_in_use() -> Scene:
    world = World.prefilled()
    return world.scene(each_refused(partial(world.cache.bind, world.decoder)))


def _bind_another(decoder_of: Callable[[World], Decoder]) -> Callable[[], Scene]:
    def arrange() -> Scene:
        world = World.unbound()
        bind = partial(world.cache.bind, decoder_of(world))
        return world.scene(each_refused(bind))

    return arrange


def _of_other_parameters(world: World) -> Decoder:
    given = world.decoder.parameters
    last = Parameter(given[-1].name, given[-1].value)
    return Decoder.from_parameters(world.config, (*given[:-1], last))


def _of_another_configuration(world: World) -> Decoder:
    config = replace(world.config, rms_epsilon=1e-5)
    return Decoder.from_parameters(config, world.decoder.parameters)


def _bind_stale() -> Scene:
    world = World.unbound()
    parameters = world.decoder.parameters
    world.optimizer.step(parameters, ones_for(parameters))
    return world.scene(each_refused(partial(world.cache.bind, world.decoder)))


class _CallingBack:
    """A gradient that makes a call when a step takes a look at it."""

    def __init__(self, value: Array, call: Callable[[], object]) -> None:
        self.value = value
        self.call = call
        self.came: object = None

    def __array__(self, dtype: None = None, copy: None = None) -> Array:
        """The value, after the call."""
        self.came = self.call()
        return self.value


def _bind_in_step() -> Scene:
    """The step happens, the bind that is tried inside does not."""
    world = World(config=NO_BLOCK)
    parameters = world.decoder.parameters
    gradients = ones_for(parameters)
    bind = partial(refused, partial(world.cache.bind, world.decoder))
    calling = _CallingBack(gradients[-1], bind)
    gradients[-1] = calling  # type: ignore[call-overload] # NumPy makes an array of it

    def call() -> object:
        return world.optimizer.step(parameters, gradients), calling.came

    return world.scene(call)


def _close() -> Scene:
    world = World.prefilled()
    return world.scene(world.open_session.close)


def _leave() -> Scene:
    world = World.prefilled()

    def call() -> None:
        with world.open_session:
            pass

    return world.scene(call)


def _leave_stack() -> Scene:
    """An ``ExitStack`` enters by way of the class."""
    world = World.prefilled()

    def call() -> None:
        with ExitStack() as stack:
            stack.enter_context(world.open_session)

    return world.scene(call)


def _drop_half_closed() -> Scene:
    """Nobody tries again to close; the session goes with the traceback."""
    world = World.prefilled()
    is_new = [True]

    def call() -> None:
        if is_new:
            is_new.clear()
            world.open_session.close()

    def end() -> None:
        world.session = None
        world.rest()

    return Scene(call, lambda: held(world.decoder), end=end)


def _collect() -> Scene:
    """A session in a circle, which the collector closes without a bytecode."""
    world = World.prefilled()
    circle: list[object] = [world.open_session]
    circle.append(circle)
    world.session = None

    def call() -> None:
        callbacks = gc.callbacks[:]  # such as Hypothesis has
        gc.callbacks.clear()
        gc.collect()
        gc.callbacks[:] = callbacks

    return world.scene(call)


BINDING_SCENES: Final[Mapping[str, Arrange]] = {
    "bind": _bind,
    "bind in use": _bind_in_use,
    "bind other parameters": _bind_another(_of_other_parameters),
    "bind another configuration": _bind_another(_of_another_configuration),
    "bind stale": _bind_stale,
    "bind inside a step": _bind_in_step,
    "close": _close,
    "close, then drop": _drop_half_closed,
    "leave with": _leave,
    "leave an ExitStack": _leave_stack,
    "collector": _collect,
}
