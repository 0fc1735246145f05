"""What a token ID and a prompt must be: every call that takes one asks here."""

import operator
from collections.abc import Sequence
from typing import SupportsIndex

from engine.errors import EmptyPrompt, PromptTokenOutOfRange, PromptTooLong


def exact_token(value: SupportsIndex) -> int:
    """The plain integer that a token ID, or a count of tokens, is; of any size.

    Raises:
        TypeError: it is no integer, or a ``bool``; nothing changed.
    """
    if isinstance(value, bool):
        message = f"a token ID or a count of tokens is an integer, not {value}"
        raise TypeError(message)
    return operator.index(value)


def require_nonempty(tokens: Sequence[SupportsIndex]) -> None:
    """Refuse a prompt without a token.

    Raises:
        EmptyPrompt: it has none; nothing changed.
    """
    if not tokens:
        raise EmptyPrompt


def require_fit(tokens: Sequence[SupportsIndex], capacity: int) -> None:
    """Refuse a prompt that needs more than ``capacity`` positions.

    Raises:
        PromptTooLong: it does; nothing changed.
    """
    if len(tokens) > capacity:
        raise PromptTooLong(len(tokens), capacity)


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
