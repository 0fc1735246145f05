"""Calls that give one thing, or replace many at once, or do neither."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from engine import (
    AdamW,
    Decoder,
    DecoderConfig,
    GenerationRequest,
    Greedy,
    SplitMix64,
    TopK,
    generate,
    loss_and_gradients,
)
from properties.interrupts.scene import Arrange, Scene, each_refused
from properties.interrupts.world import (
    ADAMW,
    NO_BLOCK,
    ONE_BLOCK,
    PROMPT,
    SEED,
    World,
    ones_for,
)
from properties.lives import held

_GREEDY: Final = GenerationRequest(mode=Greedy(), eos_token=None, max_new_tokens=2)
_TOP_2: Final = GenerationRequest(
    mode=TopK(temperature=1.0, k=2), eos_token=None, max_new_tokens=2
)

_SHOWN: Final = list[DecoderConfig]()
"""Configurations that are kept, so that no later one has the address of any."""


def _step(n_before: int, config: DecoderConfig) -> Arrange:
    def arrange() -> Scene:
        world = World(config=config)
        parameters = world.decoder.parameters
        step = partial(world.optimizer.step, parameters, ones_for(parameters))
        for _ in range(n_before):
            step()
        return world.scene(step)

    return arrange


def _refused_step() -> Scene:
    """For every reason but that of the next scene."""
    world = World(config=NO_BLOCK)
    parameters = world.decoder.parameters
    gradients = ones_for(parameters)
    step = world.optimizer.step
    step(parameters, gradients)
    huge = AdamW(ADAMW).step
    refusals = each_refused(
        partial(step, parameters[:1] * 2, gradients[:1] * 2),
        partial(step, parameters[:1], gradients[:1]),
        partial(step, parameters, gradients[:-1]),
        partial(step, parameters, [*gradients[:-1], np.ones(7)]),
        partial(step, parameters, [*gradients[:-1], gradients[-1] * np.nan]),
        partial(huge, parameters[:1], [gradients[0] * 1e200]),
    )
    return world.scene(refusals)


def _step_under_session() -> Scene:
    world = World(config=NO_BLOCK)
    world.bind()
    world.prefill()
    parameters = world.decoder.parameters
    step = partial(world.optimizer.step, parameters, ones_for(parameters))
    return world.scene(each_refused(step))


def _optimizer() -> Scene:
    world = World()
    parameters = world.decoder.parameters
    world.optimizer.step(parameters, ones_for(parameters))

    def call() -> object:
        again = copy.copy(world.optimizer)
        return again.snapshot(), again.config, AdamW(ADAMW).snapshot()

    return world.scene(call)


def _differentiate() -> Scene:
    world = World()

    def call() -> object:
        loss, gradients = loss_and_gradients(world.decoder, [0], [1])
        return loss, tuple(each.tobytes() for each in gradients)

    return world.scene(call)


def _refused_loss() -> Scene:
    world = World()
    loss = partial(loss_and_gradients, world.decoder)
    requests = ((), ()), ((0,) * 7, (0,) * 7), ((0,), ()), ((3,), (0,)), ((0,), (3,))
    return world.scene(each_refused(*(partial(loss, *each) for each in requests)))


def _generate(request: GenerationRequest, config: DecoderConfig) -> Arrange:
    def arrange() -> Scene:
        world = World(config=config)
        call = partial(generate, world.decoder, [0], request, world.rng)

        def rest() -> object:
            return call(), world.rng.state, *world.rest()

        return Scene(call, world.state, rest)

    return arrange


def _refused_generate() -> Scene:
    world = World()
    ask, rng = partial(generate, world.decoder), world.rng
    hot, wide = TopK(temperature=-1.0, k=1), TopK(temperature=1.0, k=4)
    requests = (
        GenerationRequest(mode=Greedy(), eos_token=3, max_new_tokens=1),
        GenerationRequest(mode=hot, eos_token=None, max_new_tokens=1),
        GenerationRequest(mode=wide, eos_token=None, max_new_tokens=1),
        GenerationRequest(mode=Greedy(), eos_token=None, max_new_tokens=-1),
    )
    refusals = each_refused(
        *(partial(ask, PROMPT, each, rng) for each in requests),
        *(partial(ask, prompt, _TOP_2, rng) for prompt in ((), (0,) * 7, (3,))),
    )
    return world.scene(refusals)


def _initialize() -> Scene:
    world = World(config=NO_BLOCK)
    call = partial(Decoder.initialize, world.config, world.rng)
    return world.scene(lambda: held(call()))


def _decoder() -> Scene:
    # ``dataclasses`` notes the address of a record whose text it is making. Interrupted
    # there, it takes whatever has that address for one inside itself, and shows "...".
    _SHOWN.append(replace(NO_BLOCK))
    world = World(config=_SHOWN[-1])
    decoder = world.decoder

    def call() -> object:
        again = Decoder.from_parameters(world.config, decoder.parameters)
        weights = tuple((name, each.tobytes()) for name, each in again.weights.items())
        is_shown = repr(again).startswith("<Decoder of ")
        return again.config, weights, is_shown, held(copy.copy(again))

    return world.scene(call)


def _refused_decoder() -> Scene:
    world = World(config=NO_BLOCK)
    parameters = world.decoder.parameters
    given = parameters[:-1], parameters[::-1], (*parameters, parameters[0])
    of = partial(Decoder.from_parameters, world.config)
    return world.scene(each_refused(*(partial(of, each) for each in given)))


def _draw_words() -> Scene:
    rng = SplitMix64(SEED)

    def call() -> bytes:
        return rng.draws(3).tobytes()

    return Scene(call, lambda: rng.state, call)


def _draw_units() -> Scene:
    rng = SplitMix64(SEED)

    def call() -> tuple[bytes, str]:
        return rng.units(3).tobytes(), repr(rng)

    return Scene(call, lambda: rng.state, call)


def _set_generator() -> Scene:
    rng = SplitMix64(SEED)

    def call() -> None:
        rng.state = 7

    return Scene(call, lambda: rng.state, lambda: rng.draws(2).tobytes())


def _refused_generator() -> Scene:
    rng = SplitMix64(SEED)
    refusals = each_refused(
        partial(SplitMix64, -1),
        partial(setattr, rng, "state", 2**64),
    )
    return Scene(refusals, lambda: rng.state, lambda: rng.draws(2).tobytes())


TRANSACTION_SCENES: Final[Mapping[str, Arrange]] = {
    "first step": _step(0, ONE_BLOCK),
    "later step": _step(1, NO_BLOCK),
    "refused step": _refused_step,
    "step under a session": _step_under_session,
    "optimizer": _optimizer,
    "loss and gradients": _differentiate,
    "refused loss": _refused_loss,
    "generate greedy": _generate(_GREEDY, NO_BLOCK),
    "generate top-k": _generate(_TOP_2, ONE_BLOCK),
    "refused generate": _refused_generate,
    "initialize": _initialize,
    "decoder": _decoder,
    "refused decoder": _refused_decoder,
    "draw words": _draw_words,
    "draw units": _draw_units,
    "set generator": _set_generator,
    "refused generator": _refused_generator,
}
