"""Threads at full speed: each call is refused, or happens as if it were alone."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import Final

import pytest

from engine import (
    AdamW,
    CacheInUse,
    DecoderSession,
    KVCache,
    ParameterBorrowed,
    ParameterInStep,
    ParameterRevisionMismatch,
    SessionBusy,
    StepOutput,
)
from tests.models import (
    ADAMW,
    GROUPED,
    PROMPT,
    World,
    bits_of,
    decoder_of,
    held,
    ones_for,
)
from tests.undisturbed import ROOMY, alone, in_order

N_CALLS: Final = 200


@pytest.fixture
def _hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def run_together(*calls: Callable[[], object]) -> None:
    threads = [Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def close_in_the_end(session: DecoderSession) -> None:
    while True:
        try:
            session.close()
        except SessionBusy:
            continue
        return


@pytest.mark.usefixtures("_hasty")
def test_threads_in_one_session_never_mix_their_rows() -> None:
    world = World.empty(ROOMY)
    world.session.prefill([0])
    outputs: list[tuple[int, StepOutput]] = []
    refusals: list[SessionBusy] = []

    def decode_often(token_id: int) -> None:
        for _ in range(N_CALLS):
            try:
                outputs.append((token_id, world.session.decode(token_id)))
            except SessionBusy as error:
                refusals.append(error)

    run_together(*(partial(decode_often, token_id) for token_id in range(3)))

    assert len(outputs) + len(refusals) == 3 * N_CALLS
    assert world.cache.length == 1 + len(outputs)
    ordered = in_order(outputs)
    assert ordered == alone([token_id for token_id, _ in ordered])


@pytest.mark.usefixtures("_hasty")
def test_step_never_changes_a_weight_that_a_session_reads() -> None:
    decoder, optimizer = decoder_of(), AdamW(ADAMW)
    gradients = ones_for(decoder.parameters)
    changed: list[object] = []
    steps: list[int] = []

    def step_often() -> None:
        for _ in range(N_CALLS):
            try:
                steps.append(optimizer.step(decoder.parameters, gradients))
            except ParameterBorrowed:
                continue

    def bind_often() -> None:
        for _ in range(N_CALLS):
            try:
                with KVCache(decoder).bind(decoder) as session:
                    before = held(decoder)
                    session.prefill(PROMPT)
                    changed.extend([before] if before != held(decoder) else [])
            except (ParameterInStep, ParameterRevisionMismatch):
                continue

    run_together(step_often, bind_often, bind_often)

    assert changed == []
    assert steps == list(range(1, len(steps) + 1))
    assert {each.revision for each in decoder.parameters} == {len(steps)}


@pytest.mark.usefixtures("_hasty")
def test_threads_that_step_one_optimizer_lose_no_step() -> None:
    decoder, optimizer = decoder_of(), AdamW(ADAMW)
    gradients = ones_for(decoder.parameters)
    steps: list[int] = []

    def step_often() -> None:
        for _ in range(N_CALLS):
            try:
                steps.append(optimizer.step(decoder.parameters, gradients))
            except ParameterBorrowed:
                continue

    run_together(step_often, step_often)

    assert sorted(steps) == list(range(1, optimizer.snapshot().step + 1))
    assert {each.revision for each in decoder.parameters} == {len(steps)}


@pytest.mark.usefixtures("_hasty")
def test_threads_that_bind_one_cache_never_hold_it_together() -> None:
    world = World.closed()
    holders: list[int] = []
    together: list[list[int]] = []

    def bind_often(name: int) -> None:
        for _ in range(N_CALLS):
            try:
                session = world.cache.bind(world.decoder)
            except CacheInUse:
                continue
            holders.append(name)
            together.extend([list(holders)] if len(holders) > 1 else [])
            holders.remove(name)
            close_in_the_end(session)

    run_together(lambda: bind_often(1), lambda: bind_often(2))

    assert together == []
    world.cache.bind(world.decoder).close()


@pytest.mark.usefixtures("_hasty")
def test_sessions_of_one_decoder_give_the_same_bits_side_by_side() -> None:
    decoder = decoder_of(replace(GROUPED, capacity=40))
    tokens = [0, *(position % 3 for position in range(39))]
    given: list[list[object]] = []

    def decode_all() -> None:
        with KVCache(decoder).bind(decoder) as session:
            outputs: list[object] = [bits_of(session.prefill(tokens[:1]))]
            outputs.extend(bits_of(session.decode(each)) for each in tokens[1:])
        given.append(outputs)

    decode_all()
    run_together(*[decode_all] * 3)

    assert given == [given[0]] * 4
