"""The chapter's claims, each computed from the engine and the reference at run time."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engine import (
    CacheFull,
    ConfigMismatch,
    Decoder,
    DecoderConfig,
    DecodeRequiresPrefill,
    DecoderSession,
    EngineError,
    KVCache,
    ParameterMismatch,
    PrefillRequiresEmpty,
    SplitMix64,
    StepOutput,
    Work,
)
from engine.arrays import Array
from properties.restored import Restored, run_restored
from reference import Replay, replay

SEED: Final = 38
PROMPT: Final = (0, 1)
DECODED: Final = 2
TOLERANCE: Final = 2e-12  # the chapter's own, absolute, for its own fixture
CONFIG: Final = DecoderConfig(
    vocab_size=5,
    d_model=4,
    n_heads=2,
    n_kv_heads=2,
    d_ff=4,
    n_layers=2,
    capacity=4,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Phase:
    """One prefill or decode, beside the replay of the same tokens."""

    token_ids: tuple[int, ...]
    length_before: int
    layer_lengths: tuple[int, ...]
    shape: tuple[int, ...]
    output: StepOutput
    cached_scores: int
    replayed: Replay

    @property
    def max_abs_diff(self) -> float:
        """Largest difference of the newest logits."""
        return float(np.abs(self.output.logits - self.replayed.logits[-1]).max())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chapter:
    """All evidence of one run."""

    prefill: Phase
    decode: Phase
    work: Work
    storage_is_distinct: bool
    restored: Restored
    length_before_reset: int
    length_after_reset: int
    reset: Mapping[str, bool]
    refusals: Mapping[str, bool]

    @property
    def replayed_scores(self) -> int:
        """Score values of both replays."""
        replays = self.prefill.replayed, self.decode.replayed
        return sum(each.attention_scores for each in replays)


def run_chapter() -> Chapter:
    """Run everything that the chapter reports.

    Raises:
        AssertionError: cached and replayed logits differ by more than the tolerance.
    """
    decoder = Decoder.initialize(CONFIG, SplitMix64(SEED))
    cache = KVCache(decoder)
    with cache.bind(decoder) as session:
        prefill = _phase(session, decoder, PROMPT)
        decode = _phase(session, decoder, (*PROMPT, DECODED))
        assert max(prefill.max_abs_diff, decode.max_abs_diff) <= TOLERANCE
        work = cache.work
        before = cache.length
        reset, after = _reset_evidence(session, prefill, decode)
    addresses = [address for pair in cache.storage_ids for address in pair]
    return Chapter(
        prefill=prefill,
        decode=decode,
        work=work,
        storage_is_distinct=len(set(addresses)) == len(addresses),
        restored=run_restored(),
        length_before_reset=before,
        length_after_reset=after,
        reset=reset,
        refusals=_refusals(decoder),
    )


def _phase(
    session: DecoderSession, decoder: Decoder, token_ids: tuple[int, ...]
) -> Phase:
    cache = session.cache
    before, scores = cache.length, cache.work.attention_scores
    output = session.decode(token_ids[before]) if before else session.prefill(token_ids)
    return Phase(
        token_ids=token_ids,
        length_before=before,
        layer_lengths=tuple(rows.length for rows in cache.layers),
        shape=(1, *cache.layers[0].keys.shape),
        output=output,
        cached_scores=cache.work.attention_scores - scores,
        replayed=replay(decoder.config, decoder.weights, token_ids),
    )


def _reset_evidence(
    session: DecoderSession, prefill: Phase, decode: Phase
) -> tuple[dict[str, bool], int]:
    cache = session.cache
    before, addresses = cache.snapshot(), cache.storage_ids
    session.reset()
    after = cache.snapshot()
    again = [session.prefill(PROMPT).logits, session.decode(DECODED).logits]
    first = [prefill.output.logits, decode.output.logits]
    evidence = {
        "allocation_reused": cache.storage_ids == addresses,
        "storage_unchanged": after.bits == before.bits,
        "work_zeroed": after.work == Work(),
        "replay_identical": _bits(again) == _bits(first) and cache.snapshot() == before,
    }
    return evidence, after.length


def _refusals(decoder: Decoder) -> dict[str, bool]:
    """Whether each call is refused as it must be, and none of them changes anything."""
    rebuilt = Decoder.initialize(CONFIG, SplitMix64(SEED))
    changed = replace(CONFIG, rms_epsilon=2 * CONFIG.rms_epsilon)
    other = Decoder.from_parameters(changed, decoder.parameters)
    fresh, full = KVCache(decoder), KVCache(decoder)
    with ExitStack() as open_sessions:
        empty_session = open_sessions.enter_context(fresh.bind(decoder))
        full_session = open_sessions.enter_context(full.bind(decoder))
        full_session.prefill([DECODED] * CONFIG.capacity)
        before = fresh.snapshot(), full.snapshot()
        unbound = KVCache(decoder)
        refusals = {
            "decode_before_prefill": _refused(
                DecodeRequiresPrefill, lambda: empty_session.decode(DECODED)
            ),
            "prefill_nonempty": _refused(
                PrefillRequiresEmpty, lambda: full_session.prefill(PROMPT)
            ),
            "overflow": _refused(CacheFull, lambda: full_session.decode(DECODED)),
            "rebuilt_model": _refused(ParameterMismatch, lambda: unbound.bind(rebuilt)),
            "changed_config": _refused(ConfigMismatch, lambda: unbound.bind(other)),
        }
        after = fresh.snapshot(), full.snapshot()
        unchanged = (
            after == before and unbound.snapshot() == KVCache(decoder).snapshot()
        )
    return {**refusals, "unchanged": unchanged}


def _refused(error: type[EngineError], call: Callable[[], object]) -> bool:
    try:
        call()
    except EngineError as refusal:
        return type(refusal) is error
    return False


def _bits(outputs: Sequence[Array]) -> list[bytes]:
    return [output.tobytes() for output in outputs]
