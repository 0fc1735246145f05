"""Calls on a session, beside another one on the same decoder."""

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from engine import DecoderConfig, KVCache, Probe, Stage, StepOutput, Work
from engine.arrays import Array
from properties.interrupts.scene import Arrange, Scene, each_refused, refused
from properties.interrupts.world import (
    NO_BLOCK,
    ONE_BLOCK,
    PROMPT,
    TWO_BLOCKS,
    World,
    bits_of,
)

_WORN: Final = Work(token_forwards=2**64 - 1)


def _world(
    *,
    is_prefilled: bool,
    probe: Probe | None = None,
    config: DecoderConfig = TWO_BLOCKS,
) -> World:
    """Two blocks show a commit to one of them alone; fewer take less time."""
    world = World(config=config)
    world.add_bystander()
    world.bind(probe)
    if is_prefilled:
        world.prefill()
    return world


def _answered(call: Callable[[], StepOutput]) -> Callable[[], object]:
    return lambda: bits_of(call())


def _prefill() -> Scene:
    world = _world(is_prefilled=False)
    return world.scene(_answered(lambda: world.open_session.prefill(PROMPT)))


def _decode() -> Scene:
    world = _world(is_prefilled=True)
    return world.scene(_answered(lambda: world.open_session.decode(2)))


def _reset() -> Scene:
    world = _world(is_prefilled=True)
    return world.scene(world.open_session.reset)


def _refused_prefill() -> Scene:
    world = _world(is_prefilled=False, config=NO_BLOCK)
    prefill = world.open_session.prefill
    prompts = (), (0,) * (NO_BLOCK.capacity + 1), (0, 3)
    decode = partial(world.open_session.decode, 0)
    refusals = each_refused(*(partial(prefill, each) for each in prompts), decode)
    return world.scene(refusals)


def _refused_decode() -> Scene:
    world = _world(is_prefilled=True, config=NO_BLOCK)
    session = world.open_session
    refusals = each_refused(
        partial(session.decode, 3),
        partial(session.decode, True),  # noqa: FBT003 # refused, though an integer
        partial(session.prefill, (0,)),
        partial(copy.copy, session),
    )
    return world.scene(refusals)


def _refused_when_full() -> Scene:
    """And where a counter has no room left."""
    world = _world(is_prefilled=False, config=NO_BLOCK)
    world.returned.append(world.open_session.prefill((0,) * NO_BLOCK.capacity))
    worn = KVCache(world.decoder, work=_WORN)
    decode = partial(world.open_session.decode, 0)
    overflow = partial(worn.bind(world.decoder).prefill, (0,))
    return Scene(each_refused(decode, overflow), world.state)


def _used_after_close() -> Scene:
    world = _world(is_prefilled=True, config=NO_BLOCK)
    session = world.open_session
    session.close()
    refusals = each_refused(
        partial(session.prefill, PROMPT), partial(session.decode, 2), session.reset
    )

    def call() -> object:
        session.close()
        return refusals()

    return world.scene(call)


class _Failing:
    """A probe that fails wherever it is told to, as long as it is told to."""

    def __init__(self, stage: Stage, layer: int | None, position: int) -> None:
        self.place: object = stage, layer, position

    def __call__(
        self, stage: Stage, layer: int | None, position: int, _value: Array
    ) -> None:
        if (stage, layer, position) == self.place:
            raise LookupError

    def scene(self, config: DecoderConfig, *, is_prefilled: bool) -> Scene:
        """A call that fails; those that come next do not."""
        world = _world(is_prefilled=is_prefilled, probe=self, config=config)
        session = world.open_session

        def rest() -> object:
            self.place = None
            return world.rest()

        def call() -> object:
            return session.decode(2) if is_prefilled else session.prefill(PROMPT)

        return Scene(lambda: refused(call), world.state, rest)


def _failed_prefill() -> Scene:
    """In the second row, when the first is whole."""
    return _Failing(Stage.KEY, 0, 1).scene(ONE_BLOCK, is_prefilled=False)


def _failed_decode() -> Scene:
    """In the second block, when the rows of the first are written."""
    return _Failing(Stage.SCORES, 1, 2).scene(TWO_BLOCKS, is_prefilled=True)


def _failed_commit() -> Scene:
    return _Failing(Stage.COMMIT, None, 2).scene(NO_BLOCK, is_prefilled=True)


def _refused_inside() -> Scene:
    """A decode whose probe calls back, and is refused each time."""
    refusals: list[object] = []

    def call_back(stage: Stage, *_: object) -> None:
        if is_armed and stage is Stage.COMMIT:
            refusals.append(busy())

    is_armed: list[bool] = []
    world = _world(is_prefilled=True, probe=call_back, config=NO_BLOCK)
    session = world.open_session
    busy = each_refused(
        partial(session.prefill, PROMPT),
        partial(session.decode, 2),
        session.reset,
        session.close,
        partial(world.cache.fill_spare, 7.0),
        partial(world.cache.bind, world.decoder),
    )

    def call() -> object:
        is_armed.append(True)
        try:
            return bits_of(session.decode(2)), refusals[-1]
        finally:
            is_armed.clear()

    return world.scene(call)


SESSION_SCENES: Final[Mapping[str, Arrange]] = {
    "prefill": _prefill,
    "decode": _decode,
    "reset": _reset,
    "refused prefill": _refused_prefill,
    "refused decode": _refused_decode,
    "refused when full": _refused_when_full,
    "refused after close": _used_after_close,
    "refused inside a decode": _refused_inside,
    "failed prefill": _failed_prefill,
    "failed decode": _failed_decode,
    "failed commit": _failed_commit,
}
