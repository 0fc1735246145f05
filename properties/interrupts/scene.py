"""``Scene``: a call that is about to be made, and all that an interrupt may touch."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from engine import EngineError


def nothing() -> None:
    """What there is to see, or to do, where a call changes nothing."""


class Scene(NamedTuple):
    """One call of a kind, ready to be made; each run gets a scene of its own.

    Attributes:
        call: the call; gives what it answered, down to the bits
        state: all that the call may change, and what it must not; changes nothing
        rest: the next calls, once the call has happened; gives what they answered, and
            leaves no borrow behind while a traceback is still kept
        end: what is left to do, or to see, when the traceback is gone
    """

    call: Callable[[], object]
    state: Callable[[], object] = nothing
    rest: Callable[[], object] = nothing
    end: Callable[[], None] = nothing


Arrange: TypeAlias = Callable[[], Scene]


def refused(call: Callable[[], object]) -> str:
    """The refusal, or the failure, that a call must meet; an interrupt comes out."""
    try:
        call()
    except (EngineError, TypeError) as error:
        if isinstance(error.__cause__, MemoryError):
            raise
        return f"{_facts(error)} because of {_facts(error.__cause__)}"
    message = "was not refused"
    raise AssertionError(message)


def each_refused(*calls: Callable[[], object]) -> Callable[[], object]:
    """Many calls as one, each of which must be refused."""
    return lambda: [refused(call) for call in calls]


def _facts(error: BaseException | None) -> str:
    """Class and fields; the engine makes an error's own text, and no call does."""
    return f"{type(error).__name__} {error and (vars(error) or error.args)}"
