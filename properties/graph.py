"""The abstract state graph: what each kind of call may do to a cache in each state.

A state is a phase and a hold: how much a cache has of its capacity, and whether a
session is open on it. Nothing can be done to a stale cache, however full it is. The
table follows the contract's order of checks; without tokens it can be read.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias, get_args

from properties.calls import Call

KINDS: Final[tuple[str, ...]] = tuple(
    kind.model_fields["call"].default for kind in get_args(Call)
)
FALLIBLE: Final = "prefill", "decode", "generate"  # calls that a planned fault can end
DONE: Final = "done"
PHASES: Final = "empty", "prefilled", "full"
HOLDS: Final = "bound", "unbound"

_States: TypeAlias = tuple[str, ...]
_BOUND, _UNBOUND = (tuple(f"{phase} {hold}" for phase in PHASES) for hold in HOLDS)
_STALE: Final[_States] = ("stale",)
_ANY: Final[_States] = _BOUND + _UNBOUND + _STALE
_EMPTY, _ROOM, _FULL = ((state,) for state in _BOUND)

_REFUSED: Final[Mapping[str, Mapping[str, _States]]] = {
    "bind": {
        "ParameterMismatch": _ANY,
        "ParameterRevisionMismatch": _STALE,
        "CacheInUse": _BOUND,
    },
    "bind rebuilt": {"ParameterMismatch": _ANY},
    "bind changed": {"ConfigMismatch": _ANY},
    "prefill": {
        "SessionClosed": _ANY,  # an older session of a bound cache is closed too
        "EmptyPrompt": _BOUND,
        "PrefillRequiresEmpty": _ROOM + _FULL,
        "PromptTooLong": _EMPTY,
        "PromptTokenOutOfRange": _EMPTY,
        "TypeError": _EMPTY,
        "WorkOverflow": _EMPTY,
        "StageFailed": _EMPTY,
        "KeyboardInterrupt": _EMPTY,  # as a planned fault, here and below
    },
    "decode": {
        "SessionClosed": _ANY,
        "DecodeRequiresPrefill": _EMPTY,
        "DecodeTokenOutOfRange": _ROOM + _FULL,
        "TypeError": _ROOM + _FULL,
        "CacheFull": _FULL,
        "WorkOverflow": _ROOM,
        "StageFailed": _ROOM,
        "KeyboardInterrupt": _ROOM,
    },
    "reset": {"SessionClosed": _ANY},
    "step": {
        "DuplicateParameter": _ANY,
        "ParameterSetChanged": _ANY,
        "GradientMismatch": _ANY,
        "NonFiniteUpdate": _ANY,
        "ParameterBorrowed": _ANY,  # by whichever cache is bound
    },
    "train": {
        "EmptyPrompt": _ANY,
        "PromptTooLong": _ANY,
        "TargetCountMismatch": _ANY,
        "PromptTokenOutOfRange": _ANY,
        "TargetOutOfRange": _ANY,
        "TypeError": _ANY,
        "StageFailed": _ANY,
        "ParameterSetChanged": _ANY,
        "NonFiniteUpdate": _ANY,
        "ParameterBorrowed": _ANY,
    },
    "generate": {
        "EmptyPrompt": _ANY,
        "PromptTooLong": _ANY,
        "PromptTokenOutOfRange": _ANY,
        "EosTokenOutOfRange": _ANY,
        "InvalidTemperature": _ANY,
        "InvalidTopK": _ANY,
        "InvalidBudget": _ANY,
        "TypeError": _ANY,
        "StageFailed": _ANY,
        "KeyboardInterrupt": _ANY,
    },
}
"""By call and error: the states in which it comes, and in which it leaves the cache."""

_Moves: TypeAlias = tuple[tuple[str, str], ...]
_STAYS: Final[_Moves] = tuple((each, each) for each in _ANY)
_STEPPED: Final[_Moves] = (
    *_STAYS,  # a step on parameters that the cache does not have leaves it as it is
    *((each, "stale") for each in _UNBOUND),
)

_DONE: Final[Mapping[str, _Moves]] = {
    "new decoder": _STAYS,
    "restore": _STAYS,
    "new cache": _STAYS,
    "copy": _STAYS,
    "bind": tuple(zip(_UNBOUND, _BOUND, strict=True)),
    "prefill": tuple((empty, after) for empty in _EMPTY for after in _ROOM + _FULL),
    "decode": tuple((room, after) for room in _ROOM for after in _ROOM + _FULL),
    "reset": tuple((before, empty) for before in _BOUND for empty in _EMPTY),
    "close": (
        *((each, each) for each in _ANY),
        *zip(_BOUND, _UNBOUND, strict=True),
    ),
    "step": _STEPPED,
    "train": _STEPPED,
    "generate": _STAYS,
}
"""By call: the states before and after it, where it is done."""


class Edge(NamedTuple):
    """What one call did to the cache in focus."""

    before: str
    call: str
    outcome: str
    after: str

    def __str__(self) -> str:
        return f"{self.before} -> {self.call}: {self.outcome} -> {self.after}"

    @property
    def move(self) -> "Move":
        """The same, however the call was answered."""
        return Move(self.before, self.call, self.after)


class Move(NamedTuple):
    """What a kind of call did to the cache in focus, however it was answered."""

    before: str
    call: str
    after: str

    def __str__(self) -> str:
        return f"{self.before} -> {self.call} -> {self.after}"


def _edges() -> Iterator[Edge]:
    for call, errors in _REFUSED.items():
        for error, states in errors.items():
            yield from (Edge(state, call, error, state) for state in states)
    for call, moves in _DONE.items():
        yield from (Edge(before, call, DONE, after) for before, after in moves)


EDGES: Final = frozenset(_edges())
"""Every edge that a run of one thread can take."""

MOVES: Final = frozenset(edge.move for edge in EDGES)


class Unreachable(NamedTuple):
    """Outcomes that the contract knows, and that no script comes to."""

    calls: tuple[str, ...]
    outcomes: tuple[str, ...]
    reason: str


UNREACHABLE: Final = (
    Unreachable(
        ("prefill", "decode", "reset", "close"),
        ("SessionBusy",),
        "needs a second thread, or a probe that calls back",
    ),
    Unreachable(
        ("bind", "bind rebuilt", "bind changed"),
        ("ParameterInStep",),
        "needs a step that is at work in another thread",
    ),
    Unreachable(("close",), ("SessionClosed",), "a closed session closes again"),
    Unreachable(
        ("bind", "bind rebuilt"),
        ("ConfigMismatch",),
        "every decoder that has a number has the script's configuration",
    ),
    Unreachable(
        ("bind rebuilt",),
        (DONE, "ParameterRevisionMismatch", "CacheInUse"),
        "identity is checked before, and a rebuilt parameter is never the cache's",
    ),
    Unreachable(
        ("bind changed",),
        (DONE, "ParameterMismatch", "ParameterRevisionMismatch", "CacheInUse"),
        "the configuration is checked before, and it is another",
    ),
    Unreachable(
        ("train",),
        ("DuplicateParameter", "GradientMismatch"),
        "it steps on a decoder's own parameters and on their finite gradients",
    ),
    Unreachable(
        ("generate",),
        ("PrefillRequiresEmpty", "DecodeRequiresPrefill", "CacheFull", "WorkOverflow"),
        "it has a new cache of its own, and stops before that is passed",
    ),
    Unreachable(KINDS, ("FileRejected",), "what is read was just written"),
    Unreachable(
        KINDS,
        ("InvalidConfig", "InvalidOptimizerConfig"),
        "a script with such constants is rejected, and not run",
    ),
    Unreachable(
        KINDS, ("ParameterLayout",), "a twin has the layout of its configuration"
    ),
    Unreachable(
        KINDS,
        ("NonFinite", "ZeroEnergyRow"),
        "is the cause of a StageFailed, and never comes alone",
    ),
)
