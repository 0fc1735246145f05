"""The model of a session: its refusals in order, and its counters in closed form."""

from typing import Final, SupportsIndex

import pytest

from engine import (
    CacheFull,
    DecodeRequiresPrefill,
    DecodeTokenOutOfRange,
    EmptyPrompt,
    PrefillRequiresEmpty,
    PromptTokenOutOfRange,
    PromptTooLong,
    SessionClosed,
    TargetCountMismatch,
    TargetOutOfRange,
    Work,
    WorkOverflow,
)
from reference.session import (
    CacheModel,
    Content,
    DecoderModel,
    SessionModel,
    check_training,
)
from tests.modelled import FULL, LIMIT, closed, opened, refusal
from tests.models import GROUPED, TINY, facts

ALL_BUT_FULL: Final = Work(attention_scores=LIMIT - 1)

# Each call breaks the check that is named, and most of those that come after it.
PREFILLS: Final = {
    "closed": (closed(opened()), (), SessionClosed()),
    "empty prompt": (opened(prompt=(0,)), (), EmptyPrompt()),
    "not empty": (opened(prompt=(0, 1)), (0,) * 5, PrefillRequiresEmpty(2)),
    "too long": (opened(), (9,) * 5, PromptTooLong(5, 4)),
    "out of range": (opened(FULL), (2, 3, -1), PromptTokenOutOfRange(1, 3, 3)),
    "below range": (opened(FULL), (-1, 3), PromptTokenOutOfRange(0, -1, 3)),
    "overflow": (opened(ALL_BUT_FULL), (0, 1), WorkOverflow("attention_scores")),
}
DECODES: Final = {
    "closed": (closed(opened()), 9, SessionClosed()),
    "not prefilled": (opened(), 9, DecodeRequiresPrefill()),
    "out of range": (opened(prompt=(0,) * 4), 3, DecodeTokenOutOfRange(3, 3)),
    "below range": (opened(prompt=(0,) * 4), -1, DecodeTokenOutOfRange(-1, 3)),
    "full": (
        opened(Work(decode_tokens=LIMIT), prompt=(0,) * 4),
        *(2, CacheFull(4)),
    ),
    "overflow": (
        opened(Work(decode_tokens=LIMIT), prompt=(0,)),
        *(2, WorkOverflow("decode_tokens")),
    ),
}


@pytest.mark.parametrize(
    ("session", "prompt", "error"), PREFILLS.values(), ids=PREFILLS
)
def test_prefill_refuses_in_order(
    session: SessionModel, prompt: tuple[int, ...], error: Exception
) -> None:
    found = refusal(lambda: session.prefill(prompt), session.cache)

    assert found == facts(error)[:2]


@pytest.mark.parametrize(
    ("session", "token_id", "error"), DECODES.values(), ids=DECODES
)
def test_decode_refuses_in_order(
    session: SessionModel, token_id: int, error: Exception
) -> None:
    found = refusal(lambda: session.decode(token_id), session.cache)

    assert found == facts(error)[:2]


def test_reset_of_a_closed_session_is_refused() -> None:
    session = closed(opened(prompt=(0,)))

    assert refusal(session.reset, session.cache) == (SessionClosed, ())


def test_close_again_does_nothing() -> None:
    session = closed(closed(opened(prompt=(0,))))

    assert (session.is_open, session.cache.length) == (False, 1)


@pytest.mark.parametrize("token_id", [True, False, 1.0, "1", None])
def test_token_that_is_no_integer_is_a_type_error_at_its_turn(
    token_id: SupportsIndex,
) -> None:
    empty, full = opened(), opened(prompt=(0,) * 4)

    with pytest.raises(TypeError):
        empty.prefill([2, token_id, 3])
    with pytest.raises(PromptTokenOutOfRange):
        empty.prefill([3, token_id])
    with pytest.raises(TypeError):
        full.decode(token_id)
    with pytest.raises(DecodeRequiresPrefill):
        empty.decode(token_id)


def test_last_token_of_the_vocabulary_fills_the_last_position() -> None:
    session = opened(prompt=(0, 1, 2))
    session.decode(2)

    assert session.cache.content == Content((0, 1, 2, 2), 3, Work())


def test_counters_are_the_closed_form() -> None:
    start = Work(1, 2, 3, 4, 5, 6)
    cache = CacheModel(DecoderModel(GROUPED, ()), start)
    session = cache.bind(DecoderModel(GROUPED, ()))
    session.prefill((0, 1))
    session.decode(2)

    assert cache.work == Work(
        token_forwards=1 + 3,
        prefill_tokens=2 + 2,
        decode_tokens=3 + 1,
        cache_appends=4 + 2 * 3,
        qkv_projection_rows=5 + 3 * 2 * 3,
        attention_scores=6 + 2 * 4 * (1 + 2 + 3),
    )


def test_reset_forgets_tokens_and_all_counters() -> None:
    session = opened(Work(*6 * [7]), prompt=(0, 1))
    session.reset()

    assert session.cache.content == Content((), 0, Work())
    assert session.cache.work == Work()


@pytest.mark.parametrize("counter", sorted({*Work._fields} - {"decode_tokens"}))
def test_overflow_of_a_prefill_names_the_counter(counter: str) -> None:
    session = opened(Work(**{counter: LIMIT}))

    found = refusal(lambda: session.prefill((0,)), session.cache)

    assert found == (WorkOverflow, (counter,))


@pytest.mark.parametrize("index", range(6))
def test_overflow_names_the_first_counter(index: int) -> None:
    """Each of those that follow would pass its limit, too."""
    session = opened(Work(*index * [0], *(6 - index) * [LIMIT]))
    due = [name for name in Work._fields[index:] if name != "decode_tokens"]

    found = refusal(lambda: session.prefill((0,)), session.cache)

    assert found == (WorkOverflow, (due[0],))


def test_counter_reaches_its_limit() -> None:
    session = opened(Work(token_forwards=LIMIT - 2), prompt=(0,))
    session.decode(0)

    assert session.cache.work.token_forwards == LIMIT
    assert refusal(lambda: session.decode(0), session.cache) == (
        WorkOverflow,
        ("token_forwards",),
    )


TRAININGS: Final = {
    "no token": ((), (0,), EmptyPrompt()),
    "too many": ((9,) * 5, (), PromptTooLong(5, 4)),
    "fewer targets": ((9, 0), (9,), TargetCountMismatch(2, 1)),
    "token first": ((0, 3), (3, 3), PromptTokenOutOfRange(1, 3, 3)),
    "target": ((0, 2, 1), (2, 3, -1), TargetOutOfRange(1, 3, 3)),
    "target below range": ((0,), (-1,), TargetOutOfRange(0, -1, 3)),
}


@pytest.mark.parametrize(
    ("tokens", "targets", "error"), TRAININGS.values(), ids=TRAININGS
)
def test_training_is_refused_in_order(
    tokens: tuple[int, ...], targets: tuple[int, ...], error: Exception
) -> None:
    with pytest.raises(type(error)) as caught:
        check_training(TINY, tokens, targets)

    assert facts(caught.value)[1] == facts(error)[1]


def test_training_takes_the_whole_vocabulary_up_to_the_capacity() -> None:
    check_training(TINY, iter((0, 1, 2, 2)), iter((2, 2, 1, 0)))

    with pytest.raises(TypeError):
        check_training(TINY, (0,), (True,))
