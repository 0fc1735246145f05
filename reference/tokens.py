"""Tokens as a caller may give them: plain integers, or the refusal that is due."""

import operator
from collections.abc import Iterable
from typing import SupportsIndex, TypeAlias, TypeVar

from engine import errors
from engine.config import DecoderConfig

Tokens: TypeAlias = Iterable[SupportsIndex]
T = TypeVar("T")


def checked_prompt(config: DecoderConfig, token_ids: Tokens) -> tuple[int, ...]:
    """The prompt as plain integers; its first fault is raised instead."""
    exact = list[int]()
    # No ``map``, which would take a StopIteration of a token's own for its end.
    for position, token in enumerate(fitting_prompt(config, token_ids)):
        token_id = integer(token)
        if not 0 <= token_id < config.vocab_size:
            raise errors.PromptTokenOutOfRange(position, token_id, config.vocab_size)
        exact.append(token_id)
    return tuple(exact)


def fitting_prompt(
    config: DecoderConfig, token_ids: Tokens
) -> tuple[SupportsIndex, ...]:
    """The prompt, if it has a token and room."""
    prompt = beginning(token_ids, config.capacity + 1)
    if not prompt:
        raise errors.EmptyPrompt
    if len(prompt) > config.capacity:
        raise errors.PromptTooLong(n_given(token_ids, prompt), config.capacity)
    return prompt


def beginning(given: Iterable[T], most: int) -> tuple[T, ...]:
    """No more than decides: what is given may have no end."""
    items, read = iter(given), list[T]()
    while len(read) < most:
        try:
            read.append(next(items))
        except StopIteration:
            break
    return tuple(read)


def n_given(given: object, read: tuple[object, ...]) -> int:
    """As ``len`` tells it, if it does and cannot be wrong."""
    try:
        told = len(given)  # type: ignore[arg-type] # asked at run time
    except Exception:  # noqa: BLE001 # then nothing is told, whatever it is
        told = 0
    return max(told, len(read))


def integer(value: SupportsIndex) -> int:
    """The integer that ``value`` is; ``bool`` is none."""
    if isinstance(value, bool):
        raise TypeError(f"{value} is no integer")
    return operator.index(value)
