"""What there is to call on, as a model stands: open sessions, room, stale caches."""

from typing import Final

from properties.model import Model

MAX_CACHES: Final = 8
MAX_DECODERS: Final = 8


def open_caches(model: Model) -> list[int]:
    """Those with an open session."""
    return [i for i, cache in enumerate(model.caches) if cache.is_bound]


def once_bound(model: Model) -> list[int]:
    """Those that have had a session."""
    return [i for i, cache in enumerate(model.caches) if cache.sessions]


def fresh_and_filled(model: Model) -> list[int]:
    """Those that have had a session, hold a sequence, and are not stale."""
    return [
        i
        for i in once_bound(model)
        if model.caches[i].length and not model.caches[i].is_stale
    ]


def open_empty(model: Model) -> list[int]:
    """Those that wait for a prompt."""
    return [i for i in open_caches(model) if not model.caches[i].length]


def open_filled(model: Model) -> list[int]:
    """Those that hold a sequence."""
    return [i for i in open_caches(model) if model.caches[i].length]


def open_with_room(model: Model) -> list[int]:
    """Those that can decode."""
    return [i for i in open_filled(model) if room(model, i)]


def unbound_fresh(model: Model) -> list[int]:
    """Those that their decoder would take."""
    return [
        i
        for i, cache in enumerate(model.caches)
        if not (cache.is_bound or cache.is_stale)
    ]


def stale(model: Model) -> list[int]:
    """Those that an optimizer step left behind."""
    return [i for i, cache in enumerate(model.caches) if cache.is_stale]


def closed(model: Model) -> list[tuple[int, int]]:
    """Sessions that are closed: cache, and age."""
    return [
        (i, age)
        for i, cache in enumerate(model.caches)
        for age, session in enumerate(reversed(cache.sessions))
        if not session.is_open
    ]


def has_room_for_cache(model: Model) -> bool:
    """A script is for few caches: each is looked at after every call."""
    return len(model.caches) < MAX_CACHES - 2


def has_room_for_decoder(model: Model) -> bool:
    """And for few decoders."""
    return len(model.decoders) < MAX_DECODERS - 1


def owner(model: Model, cache: int) -> int:
    """The first decoder whose parameters are the cache's."""
    parameters = model.caches[cache].parameters
    return next(
        i for i, each in enumerate(model.decoders) if each.parameters == parameters
    )


def room(model: Model, cache: int) -> int:
    """Positions that a cache has left."""
    return model.caches[cache].config.capacity - model.caches[cache].length


def two_with_room(model: Model) -> bool:
    """Two sessions that can decode in turn."""
    return len(open_with_room(model)) > 1


def copyable(model: Model) -> list[int]:
    """Those that can decode, while there is room for another cache."""
    return open_with_room(model) if has_room_for_cache(model) else []


def has_room_for_both(model: Model) -> bool:
    """Room for a decoder, and for a cache of it."""
    return has_room_for_decoder(model) and has_room_for_cache(model)


def strangers(model: Model, cache: int) -> list[int]:
    """Decoders whose parameters are not the cache's."""
    parameters = model.caches[cache].parameters
    decoders = enumerate(model.decoders)
    return [i for i, each in decoders if each.parameters != parameters]
