"""What a token ID and a prompt must be: every call that takes one asks here.

What a caller may iterate over need not have an end, so of anything that is iterable no
more is read than decides. With blocks that takes less memory than the cache itself.
Without blocks a capacity has no bound, so there a prompt without an end may be read for
as long as there is memory: no rule refuses it.
"""

import operator
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import SupportsIndex, TypeVar

from engine.errors import EmptyPrompt, PromptTokenOutOfRange, PromptTooLong

T = TypeVar("T")


def exact_token(value: SupportsIndex) -> int:
    """The plain integer that a token ID, or a count of tokens, is; of any size.

    Raises:
        TypeError: it is no integer, or a ``bool``; nothing changed.
    """
    if isinstance(value, bool):
        message = "a token ID or a count of tokens is an integer, not a bool"
        raise TypeError(message)
    return operator.index(value)


def first_of(given: Iterable[T], most: int) -> tuple[T, ...]:
    """The first ``most`` of what is given, or all if there are fewer.

    Raises:
        TypeError: nothing can be read from it.
    """
    return tuple(islice(given, min(most, sys.maxsize)))


def length_of(given: object, n_read: int) -> int:
    """How many there are, once so many were read and perhaps not all.

    That is what ``len`` says, unless there is none, it fails, or it says less.
    """
    try:
        return max(len(given), n_read)  # type: ignore[arg-type] # asked at run time
    except Exception:  # noqa: BLE001 # whatever a caller's object does, a refusal is due
        return n_read


def read_prompt(
    prompt: Iterable[SupportsIndex], room: int
) -> tuple[SupportsIndex, ...]:
    """The tokens of a prompt, or the first ones, one more than there is room for.

    Raises:
        EmptyPrompt: it has none; nothing changed.
        TypeError: nothing can be read from it; nothing changed.
    """
    tokens = first_of(prompt, room + 1)
    if not tokens:
        raise EmptyPrompt
    return tokens


def require_fit(tokens: Sequence[SupportsIndex], capacity: int, prompt: object) -> None:
    """Refuse a prompt that needs more than ``capacity`` positions.

    Args:
        tokens: as ``read_prompt`` gives them
        capacity: the positions that there are
        prompt: as it was given

    Raises:
        PromptTooLong: it does; nothing changed.
    """
    if len(tokens) > capacity:
        raise PromptTooLong(length_of(prompt, len(tokens)), capacity)


def exact_prompt(tokens: Sequence[SupportsIndex], vocab_size: int) -> tuple[int, ...]:
    """The prompt as plain integers, judged token by token, lowest position first.

    Raises:
        TypeError: a token is no integer; nothing changed.
        PromptTokenOutOfRange: a token is not in the vocabulary; nothing changed.
    """
    prompt = []
    for position, token in enumerate(tokens):
        token_id = exact_token(token)
        if not 0 <= token_id < vocab_size:
            raise PromptTokenOutOfRange(position, token_id, vocab_size)
        prompt.append(token_id)
    return tuple(prompt)
