"""What the collector closed stays closed, whatever a ``__del__`` brings back."""

import copy
import gc
from collections.abc import Callable
from dataclasses import asdict
from operator import methodcaller

import numpy as np
import pytest

from engine import (
    AdamWConfig,
    Decoder,
    DecoderConfig,
    DecoderSession,
    KVCache,
    SessionClosed,
    StageFailed,
    loss_and_gradients,
)
from tests.models import ADAMW, PROMPT, TINY, decoder_of, held, step_once

Pool = list[tuple[KVCache, DecoderSession]]


class Worker:
    """Holds itself, a cache and an open session; puts both into a pool at its end."""

    def __init__(self, decoder: Decoder, pool: Pool) -> None:
        self.itself = self
        self.cache = KVCache(decoder)
        self.session = self.cache.bind(decoder)
        self.session.prefill(PROMPT)
        self.pool = pool

    def __del__(self) -> None:
        self.pool.append((self.cache, self.session))


def brought_back(decoder: Decoder) -> tuple[KVCache, DecoderSession]:
    pool: Pool = []
    Worker(decoder, pool)
    gc.collect()
    return pool[0]


def test_cache_that_comes_back_can_be_bound() -> None:
    decoder = decoder_of()
    cache, _ = brought_back(decoder)

    with cache.bind(decoder) as session:
        assert session.decode(2).length == len(PROMPT) + 1


def test_session_that_comes_back_is_closed() -> None:
    decoder = decoder_of()
    cache, session = brought_back(decoder)
    step_once(decoder)

    for call in (lambda: session.decode(2), session.reset):
        with pytest.raises(SessionClosed):
            call()
    session.close()
    assert cache.length == len(PROMPT)


def test_gradients_are_all_there_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A StopIteration ends whatever iterates, and must not pass for an end."""
    honest = np.array
    copies = []

    def fail_at_the_third(value: object) -> object:
        copies.append(value)
        if len(copies) == 3:
            raise StopIteration
        return honest(value)

    monkeypatch.setattr("engine.training.np.array", fail_at_the_third)
    with pytest.raises((StageFailed, RuntimeError)):
        loss_and_gradients(decoder_of(), [0, 1], [1, 0])


def test_decoder_copies_share_the_parameters() -> None:
    decoder = decoder_of()
    again = copy.copy(decoder)

    assert again.parameters == decoder.parameters
    assert held(again) == held(decoder)
    with pytest.raises(TypeError):
        copy.deepcopy(decoder)


@pytest.mark.parametrize("record", [TINY, ADAMW])
def test_records_are_constructed_once(record: DecoderConfig | AdamWConfig) -> None:
    before = asdict(record)
    with pytest.raises(TypeError, match="never changes"):
        methodcaller("__init__", **before)(record)

    assert asdict(record) == before


def test_record_constructors_keep_their_signature() -> None:
    made: Callable[..., object] = DecoderConfig

    assert made(**asdict(TINY)) == TINY
