"""An answer that is not the lone run's to the bit is blamed on what came between."""

import weakref
from collections.abc import Iterable
from copy import copy
from typing import Final, SupportsIndex

import pytest

from engine import DecoderSession, KVCache, StepOutput
from properties.calls import (
    Bind,
    Call,
    Close,
    Copy,
    Decode,
    NewCache,
    Prefill,
    Reset,
    Step,
)
from tests.judged import GROWS, failure_of, script_of
from tests.witness import ULP, Patch, with_logits


def nudges(patch: pytest.MonkeyPatch, caches: weakref.WeakSet[KVCache]) -> None:
    """Each answer of these caches is off by a bit."""
    prefill, decode = DecoderSession.prefill, DecoderSession.decode

    def nudged(session: DecoderSession, output: StepOutput) -> StepOutput:
        is_off = session.cache in caches
        return with_logits(output, output.logits * ULP) if is_off else output

    def nudged_prefill(
        session: DecoderSession, prompt: Iterable[SupportsIndex]
    ) -> StepOutput:
        return nudged(session, prefill(session, prompt))

    def nudged_decode(session: DecoderSession, token_id: SupportsIndex) -> StepOutput:
        return nudged(session, decode(session, token_id))

    patch.setattr(DecoderSession, "prefill", nudged_prefill)
    patch.setattr(DecoderSession, "decode", nudged_decode)


def nudges_after_a_reset(patch: pytest.MonkeyPatch) -> None:
    honest, caches = DecoderSession.reset, weakref.WeakSet[KVCache]()

    def reset(session: DecoderSession) -> None:
        honest(session)
        caches.add(session.cache)

    patch.setattr(DecoderSession, "reset", reset)
    nudges(patch, caches)


def nudges_copies(patch: pytest.MonkeyPatch) -> None:
    caches = weakref.WeakSet[KVCache]()

    def copied(cache: KVCache) -> KVCache:
        made = copy(cache)
        caches.add(made)
        return made

    patch.setattr("properties.built_in.copy", copied)
    nudges(patch, caches)


def nudges_after_a_step(patch: pytest.MonkeyPatch) -> None:
    prefill = DecoderSession.prefill

    def nudged(session: DecoderSession, prompt: Iterable[SupportsIndex]) -> StepOutput:
        output = prefill(session, prompt)
        known = session.cache.snapshot().evidence.parameters
        is_off = any(each.revision for each in known)
        return with_logits(output, output.logits * ULP) if is_off else output

    patch.setattr(DecoderSession, "prefill", nudged)


def nudges_beside_others(patch: pytest.MonkeyPatch) -> None:
    """As an engine does that has one workspace for all of its caches."""
    decode, newest = DecoderSession.decode, list[object]()
    prefill = DecoderSession.prefill

    def noted(session: DecoderSession, prompt: Iterable[SupportsIndex]) -> StepOutput:
        newest[:] = [session.cache]
        return prefill(session, prompt)

    def nudged(session: DecoderSession, token_id: SupportsIndex) -> StepOutput:
        output = decode(session, token_id)
        is_off = newest[0] is not session.cache
        newest[:] = [session.cache]
        return with_logits(output, output.logits * ULP) if is_off else output

    patch.setattr(DecoderSession, "prefill", noted)
    patch.setattr(DecoderSession, "decode", nudged)


AGAIN: Final = (*GROWS, Reset(), Prefill(prompt=(0,)))
STEPPED: Final = (
    *(Close(), Step(), NewCache(), Bind(cache=1), Prefill(cache=1, prompt=(0,))),
)
TWO: Final = (
    *(GROWS[0], NewCache(), Bind(cache=1), Prefill(cache=1, prompt=(0,)), GROWS[1]),
)
COPIED: Final = (GROWS[0], Copy(), Bind(cache=1), Decode(cache=1, token_id=2))


@pytest.mark.parametrize(
    ("breaks", "calls", "law"),
    [
        (nudges_after_a_reset, AGAIN, "S3"),
        (nudges_after_a_step, STEPPED, "B3"),
        (nudges_beside_others, TWO, "S5"),
        (nudges_copies, COPIED, "E2"),
    ],
)
def test_blame_is_on_what_came_between(
    breaks: Patch, calls: tuple[Call, ...], law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)

    failure = failure_of(script_of(*calls))

    assert [each.id for each in failure.broken] == [law]
    assert (failure.call, failure.is_closing) == (calls[-1], False)
