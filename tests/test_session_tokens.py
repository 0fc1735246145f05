"""What a session takes as a token and as a prompt."""

from collections.abc import Iterator
from typing import Final, SupportsIndex

import numpy as np
import pytest

from engine import DecodeTokenOutOfRange, PromptTokenOutOfRange, SessionBusy
from tests.models import PROMPT, World, bits_of

HUGE: Final = 2**70


class Index:
    """A token ID that only ``operator.index`` can see."""

    def __init__(self, token_id: int) -> None:
        self.token_id = token_id

    def __index__(self) -> int:
        return self.token_id


@pytest.mark.parametrize(
    "token_id", [1, np.int64(1), np.uint8(1), np.array(1), Index(1)]
)
def test_token_is_whatever_has_an_index(token_id: SupportsIndex) -> None:
    given, plain = World.empty(), World.empty()
    plain.session.prefill([1])
    given.session.prefill([token_id])

    output = given.session.decode(token_id)

    assert bits_of(output) == bits_of(plain.session.decode(1))


@pytest.mark.parametrize(
    "token_id", [True, np.True_, 1.0, np.float64(1), "1", None, b"1", [1], 1j, np.nan]
)
def test_token_that_is_no_integer_is_a_type_error(token_id: SupportsIndex) -> None:
    world = World.prefilled()
    before = world.everything()

    with pytest.raises(TypeError):
        world.session.decode(token_id)
    assert world.everything() == before

    world.session.reset()
    before = world.everything()
    with pytest.raises(TypeError):
        world.session.prefill([0, token_id])
    assert world.everything() == before


@pytest.mark.parametrize("token_id", [-1, 3, HUGE, -HUGE, np.int64(-1), Index(3)])
def test_token_out_of_range_is_named_as_a_plain_integer(
    token_id: SupportsIndex,
) -> None:
    world = World.prefilled()

    with pytest.raises(DecodeTokenOutOfRange) as refusal:
        world.session.decode(token_id)
    assert type(refusal.value.token_id) is int
    assert refusal.value.token_id == token_id.__index__()

    world.session.reset()
    with pytest.raises(PromptTokenOutOfRange) as earlier:
        world.session.prefill([0, token_id])
    assert earlier.value.args == (1, refusal.value.token_id, 3)


def test_prompt_may_be_any_iterable() -> None:
    def one_by_one() -> Iterator[int]:
        yield from PROMPT

    world, plain = World.empty(), World.prefilled()

    assert bits_of(world.session.prefill(one_by_one())) == bits_of(plain.returned[0])


def test_prompt_that_raises_is_let_through() -> None:
    def broken() -> Iterator[int]:
        yield 0
        raise LookupError

    world = World.empty()
    before = world.everything()

    with pytest.raises(LookupError):
        world.session.prefill(broken())

    assert world.everything() == before
    world.session.prefill(PROMPT)


def test_prompt_that_calls_back_is_busy() -> None:
    world = World.empty()

    def calling_back() -> Iterator[int]:
        world.session.reset()
        yield 0

    with pytest.raises(SessionBusy):
        world.session.prefill(calling_back())
    assert world.session.prefill([0]).length == 1


def test_caller_may_change_a_prompt_afterwards() -> None:
    world = World.empty()
    prompt = list(PROMPT)

    output = world.session.prefill(prompt)

    assert prompt == list(PROMPT)
    assert output.length == 2
