"""Tokens as a caller may give them: plain integers, or the refusal that is due."""

import operator
from collections.abc import Iterable
from typing import SupportsIndex, TypeAlias

from engine import errors
from engine.config import DecoderConfig

Tokens: TypeAlias = Iterable[SupportsIndex]


def checked_prompt(config: DecoderConfig, token_ids: Tokens) -> tuple[int, ...]:
    """The prompt as plain integers; its first fault is raised instead."""
    exact = list[int]()
    for position, token_id in enumerate(
        map(integer, fitting_prompt(config, token_ids))
    ):
        if not 0 <= token_id < config.vocab_size:
            raise errors.PromptTokenOutOfRange(position, token_id, config.vocab_size)
        exact.append(token_id)
    return tuple(exact)


def fitting_prompt(
    config: DecoderConfig, token_ids: Tokens
) -> tuple[SupportsIndex, ...]:
    """The prompt, if it has a token and room."""
    prompt = tuple(token_ids)
    if not prompt:
        raise errors.EmptyPrompt
    if len(prompt) > config.capacity:
        raise errors.PromptTooLong(len(prompt), config.capacity)
    return prompt


def integer(value: SupportsIndex) -> int:
    """The integer that ``value`` is; ``bool`` is none."""
    if isinstance(value, bool):
        raise TypeError(f"{value} is no integer")
    return operator.index(value)
