"""Engines that are wrong in one place: what they refuse, bind, count and hand out."""

from collections.abc import Iterable

import pytest

from engine import AdamW, AdamWConfig, Generation, GenerationRequest, KVCache, Parameter
from engine.adamw import adamw_update
from engine.arrays import Array, Vector
from engine.cache import LayerRows
from engine.config import DecoderConfig
from engine.decoder import Decoder
from engine.errors import CacheFull, EngineError
from engine.evidence import Evidence
from engine.generation import generate
from engine.parameters import Held
from engine.prefix import Prefix
from engine.request import HasState
from engine.session import StepOutput
from engine.splitmix import SplitMix64
from engine.stages import Probe
from engine.work import MAX_COUNT, Work, decode_work
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Changes,
    Close,
    Copy,
    Decode,
    Generate,
    NewCache,
    Prefill,
    Restore,
    Step,
)
from tests.witness import Witness

GROWS = (Prefill(prompt=(0, 1)), Decode(token_id=2))


def names_another_capacity(patch: pytest.MonkeyPatch) -> None:
    def full(capacity: int) -> CacheFull:
        return CacheFull(capacity + 1)

    patch.setattr("engine.session.CacheFull", full)


def draws_before_it_refuses(patch: pytest.MonkeyPatch) -> None:
    def generated(
        decoder: Decoder,
        prompt: tuple[int, ...],
        request: GenerationRequest,
        rng: HasState,
        probe: Probe | None,
    ) -> Generation:
        try:
            return generate(decoder, prompt, request, rng, probe)
        except EngineError:
            rng.state += 1
            raise

    patch.setattr("properties.built_in.generate", generated)


def binds_whatever_has_its_config(patch: pytest.MonkeyPatch) -> None:
    honest = Evidence.require_same

    def require_same(evidence: Evidence, decoder: Decoder) -> None:
        if evidence.config != decoder.config:
            honest(evidence, decoder)

    patch.setattr(Evidence, "require_same", require_same)


def binds_another_epsilon(patch: pytest.MonkeyPatch) -> None:
    def require_same(evidence: Evidence, decoder: Decoder) -> None:
        del evidence, decoder

    patch.setattr(Evidence, "require_same", require_same)


def binds_stale_caches(patch: pytest.MonkeyPatch) -> None:
    def require_current(evidence: Evidence) -> None:
        del evidence

    patch.setattr(Evidence, "require_current", require_current)


def steps_under_a_session(patch: pytest.MonkeyPatch) -> None:
    def is_borrowed(parameter: Parameter, held: Held) -> bool:
        del parameter, held
        return False

    patch.setattr("engine.optimizer._is_borrowed", is_borrowed)


def forgets_to_decay(patch: pytest.MonkeyPatch) -> None:
    def update(
        config: AdamWConfig,
        powers: tuple[float, float],
        weight: Array,
        moments: tuple[Array, Array],
        gradient: Array,
    ) -> tuple[Array, Array, Array]:
        value, *new = adamw_update(config, powers, weight, moments, gradient)
        decay = config.learning_rate * config.weight_decay * weight
        return value + decay, new[0], new[1]

    patch.setattr("engine.optimizer.adamw_update", update)


def takes_a_decode_for_a_prefill(patch: pytest.MonkeyPatch) -> None:
    def miscounted(config: DecoderConfig, attention_scores: int) -> Work:
        work = decode_work(config, attention_scores)
        return work._replace(prefill_tokens=1, decode_tokens=0)

    patch.setattr("engine.session.decode_work", miscounted)


def tells_one_score_more(patch: pytest.MonkeyPatch) -> None:
    def output(logits: Vector, position: int, length: int, scores: int) -> StepOutput:
        return StepOutput(logits, position, length, scores + 1)

    patch.setattr("engine.session.StepOutput", output)


def counts_past_its_limit(patch: pytest.MonkeyPatch) -> None:
    def plus(work: Work, more: Work) -> Work:
        return Work._make((a + b) % 2**64 for a, b in zip(work, more, strict=True))

    patch.setattr(Work, "plus", plus)


def hands_out_its_rows(patch: pytest.MonkeyPatch) -> None:
    def views(cache: KVCache) -> tuple[LayerRows, ...]:
        return tuple(
            LayerRows(keys[:, : cache.length], values[:, : cache.length], cache.length)
            for keys, values in cache._prefix.blocks
        )

    patch.setattr(KVCache, "_copied_rows", views)


def copies_share_their_rows(patch: pytest.MonkeyPatch) -> None:
    def copy(prefix: Prefix) -> Prefix:
        return Prefix(prefix._storage, prefix.state)

    patch.setattr(Prefix, "copy", copy)


def draws_while_it_loads(patch: pytest.MonkeyPatch) -> None:
    def loaded(state: int) -> SplitMix64:
        stream = SplitMix64(state)
        stream.units(1)
        return stream

    patch.setattr("engine.serialization.SplitMix64", loaded)


FULL = (Prefill(prompt=(0, 1, 2, 3)), Decode(token_id=2))

CALLS = (
    Witness("R2", names_another_capacity, FULL),
    Witness("R4", draws_before_it_refuses, (Generate(prompt=(9,)),)),
    Witness("B1", binds_whatever_has_its_config, (Close(), BindRebuilt(rebuilt=(7,)))),
    Witness(
        "B2",
        binds_another_epsilon,
        (Close(), BindChanged(changes=Changes(rms_epsilon=0.5))),
    ),
    Witness("B3", binds_stale_caches, (*GROWS, Close(), Step(), Bind())),
    Witness("B4", steps_under_a_session, (Step(),)),
    Witness("B5", forgets_to_decay, (Close(), Step())),
    Witness("C1", takes_a_decode_for_a_prefill, GROWS),
    Witness("C2", tells_one_score_more, GROWS),
    Witness(
        "C4",
        counts_past_its_limit,
        (
            NewCache(work=(MAX_COUNT, 0, 0, 0, 0, 0)),
            Bind(cache=1),
            Prefill(cache=1, prompt=(0, 1)),
        ),
    ),
    Witness("E1", hands_out_its_rows, GROWS),
    Witness("E2", copies_share_their_rows, (*GROWS, Copy())),
    Witness("E3", draws_while_it_loads, (Restore(),)),
)


def spares_its_rows(patch: pytest.MonkeyPatch) -> None:
    def nothing(cache: KVCache, value: float) -> None:
        del cache, value

    patch.setattr(KVCache, "fill_spare", nothing)


def fails_for_another_reason(patch: pytest.MonkeyPatch) -> None:
    def other(index: int, value: float) -> ArithmeticError:
        return ArithmeticError(index, value)

    patch.setattr("engine.floating.NonFinite", other)


def loses_count_of_its_steps(patch: pytest.MonkeyPatch) -> None:
    honest = AdamW.step

    def step(
        optimizer: AdamW, parameters: Iterable[Parameter], gradients: Iterable[Array]
    ) -> int:
        return min(honest(optimizer, parameters, gradients), 1)

    patch.setattr(AdamW, "step", step)


MORE_CALLS = (
    Witness("P5", spares_its_rows, GROWS),
    Witness("N1", fails_for_another_reason, GROWS, scale=1e100),
    Witness("B5", loses_count_of_its_steps, (Close(), Step(), Step())),
)
"""What was not seen at first."""
