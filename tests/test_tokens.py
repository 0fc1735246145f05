"""Token IDs and prompts: what is one, and which fault of a bad one is named."""

from itertools import count
from typing import SupportsIndex

import numpy as np
import pytest

from engine.errors import EmptyPrompt, PromptTokenOutOfRange, PromptTooLong
from engine.tokens import (
    exact_prompt,
    exact_token,
    first_of,
    length_of,
    read_prompt,
    require_fit,
)


class _Seven:
    def __index__(self) -> int:
        return 7


@pytest.mark.parametrize("value", [7, np.int64(7), np.uint8(7), np.array(7), _Seven()])
def test_token_is_anything_with_an_index(value: SupportsIndex) -> None:
    token_id = exact_token(value)

    assert (type(token_id), token_id) == (int, 7)


def test_token_of_any_size_is_exact() -> None:
    assert exact_token(-(2**100)) == -(2**100)


@pytest.mark.parametrize("value", [True, np.True_, 1.0, np.float64(1), "1", None, [1]])
def test_token_refuses_what_is_no_integer(value: SupportsIndex) -> None:
    with pytest.raises(TypeError):
        exact_token(value)


def test_prompt_becomes_plain_integers() -> None:
    prompt = exact_prompt((np.int32(0), _Seven(), 2), 8)

    assert [(type(token), token) for token in prompt] == [(int, 0), (int, 7), (int, 2)]


@pytest.mark.parametrize(("token_id", "position"), [(-1, 0), (3, 1), (2**64, 2)])
def test_prompt_names_the_token_out_of_range(token_id: int, position: int) -> None:
    tokens = [0] * position + [token_id, 99]

    with pytest.raises(PromptTokenOutOfRange) as refusal:
        exact_prompt(tokens, 3)

    assert refusal.value.args == (position, token_id, 3)


def test_prompt_is_judged_from_its_lowest_position() -> None:
    with pytest.raises(PromptTokenOutOfRange):
        exact_prompt((3, True), 3)
    with pytest.raises(TypeError):
        exact_prompt((True, 3), 3)


def test_prompt_has_at_least_one_token() -> None:
    assert read_prompt([0], 2) == (0,)

    with pytest.raises(EmptyPrompt):
        read_prompt([], 2)
    with pytest.raises(EmptyPrompt):
        read_prompt(iter(()), 0)


def test_prompt_is_read_until_it_is_too_long() -> None:
    endless = count()

    assert read_prompt(endless, 2) == (0, 1, 2)
    assert next(endless) == 3


def test_prompt_has_at_most_capacity_tokens() -> None:
    require_fit((0, 0), 2, [0, 0])

    with pytest.raises(PromptTooLong) as refusal:
        require_fit((0, 0, 0), 2, [0] * 5)

    assert refusal.value.args == (5, 2)


def test_first_of_more_than_python_counts_is_all() -> None:
    assert first_of("ab", 2**70) == ("a", "b")


class _Long:
    def __init__(self, length: object) -> None:
        self.length = length

    def __len__(self) -> object:
        if isinstance(self.length, Exception):
            raise self.length
        return self.length


@pytest.mark.parametrize(
    ("length", "told"),
    [(9, 9), (2, 3), (-1, 3), (2**70, 3), ("9", 3), (RuntimeError(), 3)],
)
def test_length_is_told_unless_it_cannot_be(length: object, told: int) -> None:
    assert length_of(_Long(length), 3) == told


def test_length_of_what_has_none_is_what_was_read() -> None:
    assert length_of(count(), 3) == 3
