"""``Trap``: what the hostile objects of one call share, and have done to it."""

from collections.abc import Callable
from typing import Final, Never, TypeVar

from engine import EmptyPrompt

T = TypeVar("T")

MOST_READ: Final = 64
"""No call of these hunts needs as many items of what it is given."""

_OWN: Final[tuple[type[BaseException], ...]] = (
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    AttributeError,
    OverflowError,
    RecursionError,
    StopIteration,
    MemoryError,
    OSError,
    FloatingPointError,
    UserWarning,
    EmptyPrompt,
    KeyboardInterrupt,
    GeneratorExit,
    SystemExit,
)

N_EXCEPTIONS: Final = sum(issubclass(each, Exception) for each in _OWN)
"""How many of the first ones do not end a program."""


class Overread(BaseException):
    """An endless iterable was read on and on, by whom only this can stop."""


class Trap:
    """What hostile objects raise, read and call.

    Args:
        call_back: makes calls on what is being called

    Attributes:
        raised: each exception that a hostile object raised
        n_read: how many items were asked for
    """

    def __init__(self, call_back: Callable[[], object]) -> None:
        self.call_back = call_back
        self.raised = list[BaseException]()
        self.n_read = 0

    def spring(self, number: int) -> Never:
        """Raise, of whatever class."""
        error = _OWN[number % len(_OWN)]()
        self.raised.append(error)
        raise error

    def read(self, item: T) -> T:
        """One more item is asked for."""
        self.n_read += 1
        if self.n_read > MOST_READ:
            raise Overread
        return item
