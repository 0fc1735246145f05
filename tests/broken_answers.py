"""Engines that are wrong in one place: what they answer, and what they keep."""

import weakref
from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np
import pytest

from engine import DecoderSession, KVCache, RequestError, StepOutput
from engine.arrays import DType, Rotation, Vector
from engine.decoder import Decoder
from engine.errors import CacheFull
from engine.layers import rotation
from engine.request import Mode
from engine.row import Row, prepare
from engine.sampling import Choice, choose
from engine.splitmix import SplitMix64
from engine.stages import Probe
from properties.calls import Bind, Close, Decode, Generate, Prefill, Reset
from properties.chapter import CONFIG
from properties.drawn import initial_weights
from properties.replayed import Replayed
from properties.script import Weights
from tests.witness import ULP, Witness, with_logits

GROWS = (Prefill(prompt=(0, 1)), Decode(token_id=2))


def rounds_logits(patch: pytest.MonkeyPatch) -> None:
    """To float32, as if only the last product were narrow."""

    def output(logits: Vector, *facts: int) -> StepOutput:
        return StepOutput(logits.astype(np.float32).astype(np.float64), *facts)

    patch.setattr("engine.session.StepOutput", output)


def misses_by_more_than_a_bound(patch: pytest.MonkeyPatch) -> None:
    """Though by less than two computations may be apart."""
    weights = initial_weights(CONFIG, Weights(seed=38, gain_spread=0.5))
    miss = 1.5 * Replayed.of(CONFIG, weights, (0, 1)).bounds.logits[1]

    def output(logits: Vector, position: int, length: int, scores: int) -> StepOutput:
        missed = logits + miss if position == 1 else logits
        return StepOutput(missed, position, length, scores)

    patch.setattr("engine.session.StepOutput", output)


def rotates_one_further(patch: pytest.MonkeyPatch) -> None:
    """Logits cannot see it: only differences of positions matter to them."""

    def shifted(position: int, head_dim: int, base: float, dtype: DType) -> Rotation:
        return rotation(position + 1, head_dim, base, dtype)

    patch.setattr("engine.row.rotation", shifted)


def decodes_in_another_order(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession.decode

    def decode(session: DecoderSession, token_id: SupportsIndex) -> StepOutput:
        output = honest(session, token_id)
        return with_logits(output, output.logits * ULP)

    patch.setattr(DecoderSession, "decode", decode)


def touches_up_the_first_row(patch: pytest.MonkeyPatch) -> None:
    def touching(row: Row, probe: Probe | None) -> None:
        prepare(row, probe)
        if row.position:
            row.prefix.blocks[0].keys[:, 0] *= ULP

    patch.setattr("engine.session.prepare", touching)


def minds_what_is_spare(patch: pytest.MonkeyPatch) -> None:
    honest = Row.is_surely_finite

    def minding(row: Row) -> bool:
        behind = row.prefix.bits_at(row.position + 1)
        if np.isnan(behind).any():
            row.logits = row.logits * ULP
        return honest(row)

    patch.setattr(Row, "is_surely_finite", minding)


def chooses_the_second_best(patch: pytest.MonkeyPatch) -> None:
    def second(logits: Vector, mode: Mode, stream: SplitMix64) -> Choice:
        best = choose(logits, mode, stream)
        others = logits.copy()
        others[best.token_id] = -np.inf
        return best._replace(token_id=int(np.argmax(others)))

    patch.setattr("engine.generation.choose", second)


def tells_the_next_position(patch: pytest.MonkeyPatch) -> None:
    def output(logits: Vector, position: int, *facts: int) -> StepOutput:
        return StepOutput(logits, position + 1, *facts)

    patch.setattr("engine.session.StepOutput", output)


def is_full_one_row_early(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession.decode

    def decode(session: DecoderSession, token_id: SupportsIndex) -> StepOutput:
        capacity = session.cache.capacity
        if session.cache.length == capacity - 1:
            raise CacheFull(capacity)
        return honest(session, token_id)

    patch.setattr(DecoderSession, "decode", decode)


def zeroes_rows_in_a_reset(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession.reset

    def reset(session: DecoderSession) -> None:
        honest(session)
        session.cache.fill_spare(0.0)

    patch.setattr(DecoderSession, "reset", reset)


def nudges_what_is_bound_again(patch: pytest.MonkeyPatch) -> None:
    honest_bind, honest = KVCache.bind, DecoderSession.decode
    bound: weakref.WeakKeyDictionary[KVCache, int] = weakref.WeakKeyDictionary()

    def bind(
        cache: KVCache, decoder: Decoder, probe: Probe | None = None
    ) -> DecoderSession:
        bound[cache] = bound.get(cache, 0) + 1
        return honest_bind(cache, decoder, probe)

    def decode(session: DecoderSession, token_id: SupportsIndex) -> StepOutput:
        output = honest(session, token_id)
        is_first = bound[session.cache] == 1
        return output if is_first else with_logits(output, output.logits * ULP)

    patch.setattr(KVCache, "bind", bind)
    patch.setattr(DecoderSession, "decode", decode)


def returns_one_buffer(patch: pytest.MonkeyPatch) -> None:
    buffers: dict[int, Vector] = {}

    def output(logits: Vector, *facts: int) -> StepOutput:
        buffer = buffers.setdefault(len(logits), np.zeros_like(logits))
        buffer[:] = logits
        return StepOutput(buffer, *facts)

    patch.setattr("engine.session.StepOutput", output)


def nudges_the_first_cache_ever(patch: pytest.MonkeyPatch) -> None:
    """As an engine does that tunes itself while it runs."""
    honest_bind, honest = KVCache.bind, DecoderSession.decode
    bound = list[KVCache]()

    def bind(
        cache: KVCache, decoder: Decoder, probe: Probe | None = None
    ) -> DecoderSession:
        bound.append(cache)
        return honest_bind(cache, decoder, probe)

    def decode(session: DecoderSession, token_id: SupportsIndex) -> StepOutput:
        output = honest(session, token_id)
        is_first = session.cache is bound[0]
        return with_logits(output, output.logits * ULP) if is_first else output

    patch.setattr(KVCache, "bind", bind)
    patch.setattr(DecoderSession, "decode", decode)


def nudges_after_a_refusal(patch: pytest.MonkeyPatch) -> None:
    honest, refused = DecoderSession.decode, weakref.WeakSet[DecoderSession]()

    def decode(session: DecoderSession, token_id: SupportsIndex) -> StepOutput:
        try:
            output = honest(session, token_id)
        except RequestError:
            refused.add(session)
            raise
        was_refused = session in refused
        return with_logits(output, output.logits * ULP) if was_refused else output

    patch.setattr(DecoderSession, "decode", decode)


def leaves_a_bit_after_a_refusal(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession.prefill

    def prefill(session: DecoderSession, prompt: Iterable[SupportsIndex]) -> StepOutput:
        try:
            return honest(session, prompt)
        except RequestError:
            session.cache.fill_spare(0.5)
            raise

    patch.setattr(DecoderSession, "prefill", prefill)


ANSWERS = (
    Witness("P1", rounds_logits, GROWS),
    Witness("P2", rotates_one_further, GROWS),
    Witness("P3", decodes_in_another_order, GROWS),
    Witness("P4", touches_up_the_first_row, GROWS),
    Witness("P5", minds_what_is_spare, GROWS),
    Witness("P6", chooses_the_second_best, (Generate(prompt=(0,)),)),
    Witness("P7", misses_by_more_than_a_bound, GROWS[:1]),
    Witness("S1", tells_the_next_position, GROWS),
    Witness("S2", is_full_one_row_early, GROWS),
    Witness("S3", zeroes_rows_in_a_reset, (*GROWS, Reset())),
    Witness("S4", nudges_what_is_bound_again, (*GROWS, Close(), Bind())),
    Witness("S5", returns_one_buffer, GROWS),
    Witness("S6", nudges_the_first_cache_ever, GROWS),
    Witness("R1", leaves_a_bit_after_a_refusal, (Prefill(prompt=(9,)),)),
    Witness("R3", nudges_after_a_refusal, (Prefill(prompt=(0,)), Decode(token_id=9))),
)
