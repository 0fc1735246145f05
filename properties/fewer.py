"""Scripts of fewer calls: without some of them, or with two made one."""

from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Final, TypeAlias

from engine import DecoderConfig
from engine.stages import row_places
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Copy,
    Decode,
    NewCache,
    NewDecoder,
    Prefill,
    Restore,
)
from properties.script import Fault, Script

_MAX_PAIRED: Final = 12
"""So many calls have pairs that are tried; more of them have too many."""

_Numbers: TypeAlias = dict[int, int]


def without_calls(script: Script, gone: Collection[int]) -> Script:
    """The script without some calls, and without all that is named nowhere then.

    With what makes a cache or a decoder goes every call that names it; those that are
    made later get new numbers. With a call goes its fault.
    """
    caches, decoders, places = {0: 0}, {0: 0}, _Numbers()
    calls = list[Call]()
    n_caches = n_decoders = 1
    for index, call in enumerate(script.calls):
        renamed = None if index in gone else _renamed(call, caches, decoders)
        if isinstance(call, NewCache | Copy):
            if renamed is not None:
                caches[n_caches] = len(caches)
            n_caches += 1
        if isinstance(call, NewDecoder | Restore):
            if renamed is not None:
                decoders[n_decoders] = len(decoders)
            n_decoders += 1
        if renamed is not None:
            places[index] = len(calls)
            calls.append(renamed)
    return _with_calls(script, calls, places)


def without_age(script: Script, gone: int) -> Iterator[Script]:
    """Without a bind, sessions before it are one younger; if any of them is called."""
    bind = script.calls[gone]
    if not isinstance(bind, Bind | BindRebuilt | BindChanged):
        return
    calls = list(script.calls)
    for index, call in enumerate(calls[gone:], gone):
        if named(call, "cache") == bind.cache and (age := named(call, "age")) > 0:
            calls[index] = call.model_copy(update={"age": age - 1})
    if tuple(calls) != script.calls:
        aged = script.model_copy(update={"calls": tuple(calls)})
        yield without_calls(aged, {gone})


def with_fault_later(script: Script, gone: int) -> Iterator[Script]:
    """Without a call, but with its fault, which strikes the next one."""
    faults = {fault.call: fault for fault in script.faults}
    if gone in faults and gone + 1 < len(script.calls) and gone + 1 not in faults:
        late = faults[gone].model_copy(update={"call": gone + 1})
        moved = tuple(late if each.call == gone else each for each in script.faults)
        yield without_calls(script.model_copy(update={"faults": moved}), {gone})


def with_first_objects(script: Script) -> Iterator[Script]:
    """Without a cache or decoder; what was called on it is called on the first one.

    Nor is the cache bound, at first.
    """
    for kinds, what in ((NewCache | Copy, "cache"), (NewDecoder | Restore, "decoder")):
        makers = [i for i, each in enumerate(script.calls) if isinstance(each, kinds)]
        for number, maker in reversed([*enumerate(makers, 1)]):
            users = [
                i for i, each in enumerate(script.calls) if named(each, what) == number
            ]
            binds = {i for i in users if isinstance(script.calls[i], Bind)}
            calls = list(script.calls)
            for index in users:
                calls[index] = calls[index].model_copy(update={what: 0})
            renamed = script.model_copy(update={"calls": tuple(calls)})
            yield without_calls(renamed, {maker, *binds})
            yield without_calls(renamed, {maker})


def without_objects(script: Script) -> Iterator[Script]:
    """Without what makes a cache or a decoder, and all that names it."""
    for index in reversed(range(len(script.calls))):
        if isinstance(script.calls[index], NewCache | Copy | NewDecoder | Restore):
            yield without_calls(script, {index})


def without_pairs(script: Script) -> Iterator[Script]:
    """Without two calls that only together can go."""
    n_calls = len(script.calls)
    if n_calls <= _MAX_PAIRED:
        for pair in combinations(reversed(range(n_calls)), 2):
            yield without_calls(script, pair)


def merged(script: Script) -> Iterator[Script]:
    """With a prompt that has the token of the next decode on its cache."""
    for index, call in enumerate(script.calls):
        if not isinstance(call, Prefill):
            continue
        rest = script.calls[index + 1 :]
        same = (i for i, each in enumerate(rest, index + 1) if _is_same(call, each))
        for other in same:
            next_one = script.calls[other]
            if isinstance(next_one, Decode):
                yield _merged(script, index, call, other, next_one)
            break


def named(call: Call, what: str) -> int:
    """The number that a call has in a field; -1 if it has no such field."""
    value = dict(call).get(what)
    return value if isinstance(value, int) else -1


def row_points(config: DecoderConfig) -> int:
    """How many points each row of a call has."""
    return len(row_places(config.n_layers))


def _is_same(call: Prefill, other: Call) -> bool:
    return (named(other, "cache"), named(other, "age")) == (call.cache, call.age)


def _merged(
    script: Script, index: int, first: Prefill, other: int, second: Decode
) -> Script:
    """The fault of the decode stays at its row, unless the prompt has one too."""
    calls = list(script.calls)
    calls[index] = first.model_copy(update={"prompt": (*first.prompt, second.token_id)})
    faults = {fault.call: fault for fault in script.faults}
    if other in faults:
        late = faults.pop(other)
        point = late.point + len(first.prompt) * row_points(script.config)
        update = {"call": index, "point": point}
        faults.setdefault(index, late.model_copy(update=update))
    in_order = tuple(faults[each] for each in sorted(faults))
    update_all = {"calls": tuple(calls), "faults": in_order}
    return without_calls(script.model_copy(update=update_all), {other})


def _renamed(call: Call, caches: _Numbers, decoders: _Numbers) -> Call | None:
    """The call with new numbers, or nothing if it names what is not there."""
    update = dict[str, int]()
    for what, numbers in (("cache", caches), ("decoder", decoders)):
        number = named(call, what)
        if number >= 0:
            if number not in numbers:
                return None
            update[what] = numbers[number]
    return call.model_copy(update=update)


def _with_calls(script: Script, calls: list[Call], places: _Numbers) -> Script:
    faults = tuple(
        _at(fault, places) for fault in script.faults if fault.call in places
    )
    return script.model_copy(update={"calls": tuple(calls), "faults": faults})


def _at(fault: Fault, places: _Numbers) -> Fault:
    return fault.model_copy(update={"call": places[fault.call]})
