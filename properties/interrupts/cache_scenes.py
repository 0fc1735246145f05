"""Making, reading and copying a cache, while a session is open on it."""

import copy
import pickle
from collections.abc import Mapping
from functools import partial
from typing import Final

from engine import KVCache, Work
from properties.interrupts.scene import Arrange, Scene, each_refused
from properties.interrupts.world import World


def _told(cache: KVCache) -> object:
    """What a cache is, but for the very parameters."""
    snapshot = cache.snapshot()
    return snapshot.length, snapshot.work, snapshot.bits


def _new() -> Scene:
    world = World.prefilled()
    made = partial(KVCache, world.decoder, work=Work(decode_tokens=5))
    return world.scene(lambda: _told(made()))


def _refused_new() -> Scene:
    world = World.prefilled()
    made = partial(KVCache, world.decoder)
    works = Work(decode_tokens=-1), Work(cache_appends=2**64)
    return world.scene(each_refused(*(partial(made, work=each) for each in works)))


def _read() -> Scene:
    world = World.prefilled()
    cache, session = world.cache, world.open_session

    def call() -> object:
        rows = [(each.keys.tobytes(), each.values.tobytes()) for each in cache.layers]
        sizes = cache.length, cache.capacity, cache.is_empty, cache.is_full, cache.work
        addresses = cache.storage_ids == cache.storage_ids
        return rows, sizes, addresses, _told(cache), session.cache is cache

    return world.scene(call)


def _copied() -> Scene:
    world = World.prefilled()
    cache = world.cache

    def call() -> object:
        copies = copy.copy(cache), copy.deepcopy(cache)
        return [each.snapshot() == cache.snapshot() for each in copies]

    return world.scene(call)


def _refused_copy() -> Scene:
    world = World.prefilled()
    things = world.open_session, world.cache, world.decoder.parameters[0]
    return world.scene(each_refused(*(partial(pickle.dumps, each) for each in things)))


def _fill_spare() -> Scene:
    world = World.prefilled()
    return world.scene(partial(world.cache.fill_spare, 7.0))


def _refused_fill_spare() -> Scene:
    world = World.prefilled()
    word: object = "seven"
    return world.scene(each_refused(partial(world.cache.fill_spare, word)))  # type: ignore[arg-type] # what must be refused


CACHE_SCENES: Final[Mapping[str, Arrange]] = {
    "new cache": _new,
    "refused new cache": _refused_new,
    "read cache": _read,
    "copy cache": _copied,
    "refused copies": _refused_copy,
    "fill spare": _fill_spare,
    "refused fill spare": _refused_fill_spare,
}
