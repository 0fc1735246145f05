"""What the model alone knows of a script: its calls, and what lies ahead of each."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from engine import EngineError
from engine.arrays import Array
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Close,
    Copy,
    Decode,
    Prefill,
    Reset,
)
from properties.model import Model
from properties.plan import in_force, make_on
from properties.script import Fault, Script, ScriptRejected


class Planned(NamedTuple):
    """One call that will be made.

    Attributes:
        call: what is called
        cache: the one in focus, which this call names, or the last one that named any
        is_refused: whether the model refuses it
        fault: what is planned for it
        ahead: the longest history that the cache in focus will have before a reset
        is_followed: whether the next call that names the cache gives logits, if no
            fault ends it
        is_closing: whether the judge has added it
    """

    call: Call
    cache: int
    is_refused: bool
    ahead: tuple[int, ...]
    fault: Fault | None = None
    is_followed: bool = False
    is_closing: bool = False


class Rehearsal(NamedTuple):
    """What will be called, and by cache, the history that closing calls will leave."""

    calls: list[Planned]
    ahead: Mapping[int, tuple[int, ...]]


def rehearse(script: Script, weights: Mapping[str, Array]) -> Rehearsal:
    """The script's calls on the model, and the closing ones to see how all ends.

    Raises:
        ScriptRejected: a call or a fault names what does not exist, or faults are not
            in the order of their calls.
    """
    _require_order(script)
    model = Model(script.config, weights, script.optimizer)
    planned = list[Planned]()
    for index, call in enumerate(script.calls):
        cache = planned[-1].cache if planned else 0
        try:
            fault = in_force(script.faults, index)
            planned.append(_planned(model, call, cache, fault))
        except ScriptRejected as error:
            raise ScriptRejected(f"call {index}, {call!r}: {error}") from error
    closing = [
        _planned(model, call, cache, None)
        for cache in range(len(model.caches))
        for call in closing_calls(model, cache)
    ]
    ahead = {each.cache: each.ahead for each in closing}
    looking = list(_looking_ahead([*planned, *closing]))
    return Rehearsal(looking[::-1][: len(planned)], ahead)


def _require_order(script: Script) -> None:
    struck = [fault.call for fault in script.faults]
    if struck != sorted(set(struck)):
        raise ScriptRejected("faults are in the order of their calls, one a call")
    if struck and struck[-1] >= len(script.calls):
        raise ScriptRejected(f"a fault is planned for call {struck[-1]}")


def _planned(model: Model, call: Call, cache: int, fault: Fault | None) -> Planned:
    """Make one call; ``ahead`` is the history that it leaves."""
    focus = cache_of(call, cache)
    is_refused = False
    try:
        make_on(model, call, fault)
    except (EngineError, TypeError):
        is_refused = True
    history = model.caches[focus].content.history
    return Planned(call, focus, is_refused, history, fault)


def cache_of(call: Call, focus: int) -> int:
    """The cache that a call names, or the one in focus if it names none."""
    match call:
        case Copy() | Bind() | BindRebuilt() | BindChanged():
            return call.cache
        case Prefill() | Decode() | Reset() | Close():
            return call.cache
        case _:
            return focus


def closing_calls(model: Model, cache: int) -> Iterator[Call]:
    """Two decodes, after what has to come first; each is chosen when it is due."""
    kept = model.caches[cache]
    if not kept.is_bound:
        owners = [decoder.parameters for decoder in model.decoders]
        yield Bind(cache=cache, decoder=owners.index(kept.parameters))
    if kept.is_bound and not kept.length:
        yield Prefill(cache=cache, prompt=(0,))
    if kept.is_bound:
        yield Decode(cache=cache, token_id=kept.config.vocab_size - 1)
        yield Decode(cache=cache, token_id=0)


def _looking_ahead(planned: list[Planned]) -> Iterator[Planned]:
    """From the last call to the first, each with the longest history from there on."""
    ahead, followed = dict[int, tuple[int, ...]](), dict[int, bool]()
    for each in reversed(planned):
        history, longest = each.ahead, ahead.get(each.cache, ())
        if longest[: len(history)] != history:
            longest = history
        ahead[each.cache] = longest
        if isinstance(each.call, Reset) and not each.is_refused:
            del ahead[each.cache]  # whatever comes later, what came before ends here
        is_followed = followed.get(each.cache, False)
        # One that a fault ends is followed itself, or looked after: a decode between
        # two failures would hide what only their sequence breaks.
        extends = isinstance(each.call, Prefill | Decode)
        followed[each.cache] = extends and not each.is_refused
        yield each._replace(ahead=longest, is_followed=is_followed)
