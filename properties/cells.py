"""The cells of the fault sweep: calls that fail, what comes before, and how they fail.

Each cell is a script: a start, the call with a fault at one of its points, and the same
call again. It is judged as every script is, so a cell that is not as it must be breaks
a law, and is left as a script.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from engine import DecoderConfig
from properties.calls import (
    Bind,
    Call,
    Close,
    Decode,
    Generate,
    NewCache,
    Prefill,
    Reset,
    Sampling,
    Step,
)
from properties.points import Fallible, n_points
from properties.script import FAULTS, Fault, Script, Weights

CONFIG: Final = DecoderConfig(
    vocab_size=3,
    d_model=8,
    n_heads=4,
    n_kv_heads=2,
    d_ff=3,
    n_layers=2,
    capacity=4,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)
WEIGHTS: Final = Weights(seed=38, gain_spread=0.5)

CALLS: Final[tuple[Fallible, ...]] = (
    Prefill(prompt=(0, 1, 2)),
    Decode(token_id=2),
    # Chooses two tokens, of which it decodes one.
    Generate(prompt=(0,), sampling=Sampling(temperature=0.5, k=3), rng_state=38),
)

_TWO: Final = Prefill(prompt=(1, 0))
_FILLED: Final[Mapping[str, tuple[Call, ...]]] = {
    "one row": (Prefill(prompt=(1,)),),
    "middle": (_TWO,),
    "one below full": (Prefill(prompt=(1, 0, 2)),),
    "full": (Prefill(prompt=(1, 0, 2, 1)),),
}
_EMPTY: Final[Mapping[str, tuple[Call, ...]]] = {
    "just bound": (),
    "just reset": (_TWO, Reset()),
}
_SECOND: Final[tuple[Call, ...]] = (
    Prefill(prompt=(2, 2)),
    NewCache(work=(9, 8, 7, 6, 5, 4)),
    Bind(cache=1),
)
"""A session beside another; its counters do not begin at 0."""


class Start(NamedTuple):
    """What comes before the call that is to fail.

    Attributes:
        refusal: what the call meets from here, before its first point; none if empty
        cache: of the session that is called
    """

    name: str
    calls: tuple[Call, ...]
    faults: tuple[Fault, ...] = ()
    refusal: str = ""
    cache: int = 0


def starts(call: Fallible) -> Iterator[Start]:
    """Every start of a call, those too from which it is refused."""
    ready = (_TWO,) if isinstance(call, Decode) else ()
    for name, calls in _EMPTY.items():
        refusal = "DecodeRequiresPrefill" if isinstance(call, Decode) else ""
        yield Start(name, calls, refusal=refusal)
    for name, calls in _FILLED.items():
        is_full = isinstance(call, Decode) and name == "full"
        refusal = "CacheFull" if is_full else ""
        refusal = "PrefillRequiresEmpty" if isinstance(call, Prefill) else refusal
        yield Start(name, calls, refusal=refusal)
    middle = n_points(CONFIG, call) // 2
    fault = Fault(call=len(ready), point=middle, raises="Exception")
    yield Start("after a fault", (*ready, call), (fault,))
    refused = Decode(token_id=9) if isinstance(call, Decode) else Prefill(prompt=())
    yield Start("after a refusal", (*ready, refused))
    filled = [each.model_copy(update={"cache": 1}) for each in ready]
    yield Start("second session", (*_SECOND, *filled), cache=1)


def once(start: Start, call: Fallible, fault: Fault) -> Script:
    """The call fails, and is made again."""
    return _script(start, 2 * (call,), fault)


def again(start: Start, call: Fallible, fault: Fault) -> Script:
    """A second fault while it is made again: what is first for one is last for it.

    It raises something else than the first.
    """
    last = n_points(CONFIG, call) - 1
    raises = FAULTS[(FAULTS.index(fault.raises) + 1) % len(FAULTS)]
    second = {
        "call": fault.call + 1,
        "point": abs(last - fault.point),
        "raises": raises,
    }
    return _script(start, 3 * (call,), fault, fault.model_copy(update=second))


def from_then_on(start: Start, call: Fallible, fault: Fault) -> Script:
    """Every point fails from there on, in two more calls; the last one succeeds."""
    persisting = fault.model_copy(update={"persists": True})
    last = fault.model_copy(update={"call": fault.call + 2, "point": 0})
    return _script(start, 4 * (call,), persisting, last)


def then_other(start: Start, call: Fallible, fault: Fault) -> Script:
    """Another call of its kind comes next, and then a step: nothing is kept or held."""
    match call:
        case Decode(token_id=token_id):
            other: Fallible = Decode(token_id=_next(token_id))
        case _:
            prompt = tuple(map(_next, call.prompt))
            other = call.model_copy(update={"prompt": prompt})
    script = _script(start, (call, other), fault)
    closed = tuple(Close(cache=cache) for cache in range(start.cache + 1))
    return script.model_copy(update={"calls": (*script.calls, *closed, Step())})


def _next(token_id: int) -> int:
    return (token_id + 1) % CONFIG.vocab_size


class Mode(NamedTuple):
    """How often a fault comes.

    Attributes:
        scripted: makes the script of a cell
        has_every_kind: whether everything is raised at each point, not one thing
    """

    name: str
    scripted: Callable[[Start, Fallible, Fault], Script]
    has_every_kind: bool


MODES: Final = (
    Mode("once", once, has_every_kind=True),
    Mode("from then on", from_then_on, has_every_kind=True),
    Mode("again", again, has_every_kind=False),
    Mode("then another", then_other, has_every_kind=False),
)


def n_cells(n_kinds: int) -> int:
    """How many cells a point has, if so many things are raised at it."""
    return sum(n_kinds if mode.has_every_kind else 1 for mode in MODES)


def _script(start: Start, calls: tuple[Fallible, ...], *faults: Fault) -> Script:
    on_cache = [
        each
        if isinstance(each, Generate)
        else each.model_copy(update={"cache": start.cache})
        for each in calls
    ]
    return Script(
        config=CONFIG,
        weights=WEIGHTS,
        calls=(*start.calls, *on_cache),
        faults=start.faults + faults,
    )
