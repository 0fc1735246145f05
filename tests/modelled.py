"""The model of a session, opened; and what it refuses, leaving everything as it was."""

from collections.abc import Callable
from typing import Final

import pytest

from engine import (
    EngineError,
    Work,
)
from reference.session import (
    CacheModel,
    DecoderModel,
    ParameterModel,
    SessionModel,
)
from tests.models import TINY, facts

LIMIT: Final = 2**64 - 1
FULL: Final = Work(*6 * [LIMIT])
NAMES: Final = ("first", "second", "third")
DECODER: Final = DecoderModel(TINY, tuple(map(ParameterModel, NAMES)))


NO_WORK: Final = Work()


def opened(work: Work = NO_WORK, *, prompt: tuple[int, ...] = ()) -> SessionModel:
    session = CacheModel(DECODER, work).bind(DECODER)
    if prompt:
        session.prefill(prompt)
    return session


def closed(session: SessionModel) -> SessionModel:
    session.close()
    return session


def refusal(call: Callable[[], object], cache: CacheModel) -> tuple[object, object]:
    """Class and fields of what is raised; the cache is as it was."""
    before = cache.content, cache.revisions, [each.is_open for each in cache.sessions]
    with pytest.raises(EngineError) as caught:
        call()

    assert before == (
        cache.content,
        cache.revisions,
        [each.is_open for each in cache.sessions],
    )
    leaf, fields, _ = facts(caught.value)
    return leaf, fields
