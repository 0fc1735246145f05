"""Engines that are wrong in one place: what a failed call leaves, and what follows."""

import weakref
from collections.abc import Iterable
from typing import SupportsIndex

import pytest

from engine import Decoder, DecoderSession, KVCache, StageFailed, StepOutput
from engine.arrays import Array
from engine.prefix import Prefix
from engine.stages import Probe, Stage
from properties.calls import Decode, Prefill
from tests.planned import fault
from tests.witness import ULP, Witness, with_logits

GROWS = (Prefill(prompt=(0, 1)), Decode(token_id=2), Decode(token_id=2))


def leaves_a_bit_after_a_failure(patch: pytest.MonkeyPatch) -> None:
    def leave(prefix: Prefix, position: int, bits: object) -> None:
        del prefix, position, bits

    patch.setattr(Prefix, "restore", leave)


def makes_new_buffers_after_a_failed_prefill(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession.prefill

    def prefill(session: DecoderSession, prompt: Iterable[SupportsIndex]) -> StepOutput:
        try:
            return honest(session, prompt)
        except StageFailed:
            session._prefix._storage = session._prefix._storage.copy()
            renewed = Prefix(session._prefix._storage, session._prefix.state)
            session._prefix.blocks = renewed.blocks
            raise

    patch.setattr(DecoderSession, "prefill", prefill)


def tries_again_by_itself(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession.decode

    def decode(session: DecoderSession, token_id: SupportsIndex) -> StepOutput:
        try:
            return honest(session, token_id)
        except StageFailed:
            return honest(session, token_id)

    patch.setattr(DecoderSession, "decode", decode)


def does_not_watch_the_commit(patch: pytest.MonkeyPatch) -> None:
    """An interrupt that was planned there never comes."""
    honest = KVCache.bind

    def bind(
        cache: KVCache, decoder: Decoder, probe: Probe | None = None
    ) -> DecoderSession:
        def seldom(
            stage: Stage, layer: int | None, position: int, value: Array
        ) -> None:
            if probe is not None and stage is not Stage.COMMIT:
                probe(stage, layer, position, value)

        return honest(cache, decoder, seldom)

    patch.setattr(KVCache, "bind", bind)


def watches_stages_in_another_order(patch: pytest.MonkeyPatch) -> None:
    """Gate and up change places, but not in what a failure says."""
    twins = {Stage.GATE: Stage.UP, Stage.UP: Stage.GATE}
    honest = KVCache.bind

    def bind(
        cache: KVCache, decoder: Decoder, probe: Probe | None = None
    ) -> DecoderSession:
        def crossed(
            stage: Stage, layer: int | None, position: int, value: Array
        ) -> None:
            if probe is not None:
                probe(twins.get(stage, stage), layer, position, value)

        return honest(cache, decoder, crossed)

    patch.setattr(KVCache, "bind", bind)


def nudges_after_failures(patch: pytest.MonkeyPatch, n_failures: int) -> None:
    honest = DecoderSession.decode
    failed: weakref.WeakKeyDictionary[DecoderSession, int]
    failed = weakref.WeakKeyDictionary()

    def decode(session: DecoderSession, token_id: SupportsIndex) -> StepOutput:
        try:
            output = honest(session, token_id)
        except StageFailed:
            failed[session] = failed.get(session, 0) + 1
            raise
        has_failed = failed.pop(session, 0) >= n_failures
        return with_logits(output, output.logits * ULP) if has_failed else output

    patch.setattr(DecoderSession, "decode", decode)


def nudges_after_a_failure(patch: pytest.MonkeyPatch) -> None:
    nudges_after_failures(patch, 1)


def nudges_after_two_failures(patch: pytest.MonkeyPatch) -> None:
    nudges_after_failures(patch, 2)


def leaves_a_bit_after_two_failures(patch: pytest.MonkeyPatch) -> None:
    """What was written over is kept once, and put back once."""
    honest, restored = Prefix.restore, list[Prefix]()

    def restore(prefix: Prefix, position: int, bits: Array) -> None:
        if prefix not in restored:
            honest(prefix, position, bits)
        restored.append(prefix)

    patch.setattr(Prefix, "restore", restore)


FAILURES = (
    Witness("A1", leaves_a_bit_after_a_failure, GROWS, faults=(fault(1, 9),)),
    Witness("A2", nudges_after_a_failure, GROWS, faults=(fault(1, 9),)),
    Witness(
        "A4",
        nudges_after_two_failures,
        (*GROWS, Decode(token_id=2)),
        faults=(fault(1, 9), fault(2, 5)),
    ),
)

MORE_FAILURES = (
    Witness(
        "A1",
        makes_new_buffers_after_a_failed_prefill,
        2 * (Prefill(prompt=(0, 1)),),
        faults=(fault(0, 40),),
    ),
    Witness("A1", tries_again_by_itself, GROWS, faults=(fault(1, 9),)),
    Witness(
        "A1",
        does_not_watch_the_commit,
        GROWS,
        faults=(fault(1, 37, "KeyboardInterrupt"),),
    ),
    Witness(
        "A1",
        watches_stages_in_another_order,
        GROWS,
        faults=(fault(1, 13, "KeyboardInterrupt"),),
    ),
    Witness(
        "A4",
        leaves_a_bit_after_two_failures,
        (*GROWS, Decode(token_id=2)),
        faults=(fault(1, 9), fault(2, 30, "MemoryError")),
    ),
)
"""Faults of which each took another check."""
