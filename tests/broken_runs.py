"""Engines whose arithmetic is right until something has happened."""

from collections.abc import Callable, Sequence

import pytest

from engine import (
    Decoder,
    DecoderConfig,
    DecoderSession,
    Generation,
    GenerationRequest,
    KVCache,
    LayerRows,
    Probe,
    SplitMix64,
    generate,
)
from engine.arrays import Array
from engine.prefix import Prefix
from engine.row import Row, Weights, prepare


def caches_another_key(
    patch: pytest.MonkeyPatch, when: Callable[[Prefix], bool]
) -> None:
    """In the second block, where a prefix is of some kind."""

    def prepared(row: Row, probe: Probe | None) -> None:
        prepare(row, probe)
        if when(row.prefix):
            row.prefix.blocks[1].keys[:, row.position] += 0.5

    patch.setattr("engine.session.prepare", prepared)


def is_wrong_after_a_reset(patch: pytest.MonkeyPatch) -> None:
    honest, known = DecoderSession.reset, list[Prefix]()

    def reset(session: DecoderSession) -> None:
        honest(session)
        known.append(session._prefix)

    patch.setattr(DecoderSession, "reset", reset)
    caches_another_key(patch, known.__contains__)


def is_wrong_after_a_failure(patch: pytest.MonkeyPatch) -> None:
    honest, known = Prefix.restore, list[Prefix]()

    def restore(prefix: Prefix, position: int, bits: Array) -> None:
        honest(prefix, position, bits)
        known.append(prefix)

    patch.setattr(Prefix, "restore", restore)
    caches_another_key(patch, known.__contains__)


def is_wrong_where_counters_go_on(patch: pytest.MonkeyPatch) -> None:
    def goes_on(prefix: Prefix) -> bool:
        return prefix.state.work.token_forwards != prefix.state.length

    caches_another_key(patch, goes_on)


def touches_the_first_row(patch: pytest.MonkeyPatch) -> None:
    def touching(row: Row, probe: Probe | None) -> None:
        prepare(row, probe)
        if row.position > 1:
            row.prefix.blocks[0].values[:, 0] += 0.5

    patch.setattr("engine.session.prepare", touching)


def reads_its_first_weights_for_ever(patch: pytest.MonkeyPatch) -> None:
    honest, known = Weights.of, list[Weights]()

    def of(config: DecoderConfig, values: Sequence[Array]) -> Weights:
        known.append(honest(config, values))
        return known[0]

    patch.setattr(Weights, "of", of)


def hides_its_newest_row(patch: pytest.MonkeyPatch) -> None:
    def copied(cache: KVCache) -> tuple[LayerRows, ...]:
        seen = cache.length - 1
        return tuple(
            LayerRows(keys[:, :seen].copy(), values[:, :seen].copy(), seen)
            for keys, values in cache._prefix.blocks
        )

    patch.setattr(KVCache, "_copied_rows", copied)


def shows_its_own_values(patch: pytest.MonkeyPatch) -> None:
    """Whoever writes into them changes what comes next."""

    def itself(value: Array) -> Array:
        return value

    patch.setattr("engine.row.read_only_copy", itself)


def generates_unseen(patch: pytest.MonkeyPatch) -> None:
    """It passes no probe on."""

    def unseen(
        decoder: Decoder,
        prompt: Sequence[int],
        request: GenerationRequest,
        rng: SplitMix64,
        _: Probe | None,
    ) -> Generation:
        return generate(decoder, prompt, request, rng)

    patch.setattr("properties.built_in.generate", unseen)


def is_wrong_without_a_probe(patch: pytest.MonkeyPatch) -> None:
    def hasty(row: Row, probe: Probe | None) -> None:
        prepare(row, probe)
        if probe is None:
            row.logits = row.logits + 0.5

    patch.setattr("engine.session.prepare", hasty)
