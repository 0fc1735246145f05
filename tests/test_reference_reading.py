"""The model reads no more of what it is given than decides."""

from collections.abc import Iterator
from itertools import count

import pytest

from engine import PrefillRequiresEmpty, TargetCountMismatch
from reference.session import check_training
from tests.modelled import opened
from tests.models import TINY


def watched(read: list[int]) -> Iterator[int]:
    """Tokens without an end; tells those that were read."""
    for token_id in count():
        read.append(token_id)
        yield token_id


def test_second_prompt_is_refused_at_its_first_token() -> None:
    session, read = opened(prompt=(0,)), list[int]()

    with pytest.raises(PrefillRequiresEmpty):
        session.prefill(watched(read))

    assert read == [0]


def test_targets_are_read_to_the_first_too_many() -> None:
    read = list[int]()
    with pytest.raises(TargetCountMismatch) as refused:
        check_training(TINY, [0, 1], watched(read))

    assert read == [0, 1, 2]
    assert refused.value.n_targets == len(read)


def test_no_targets_without_a_length_are_none() -> None:
    with pytest.raises(TargetCountMismatch) as refused:
        check_training(TINY, [0, 1], iter(()))

    assert refused.value.n_targets == 0
