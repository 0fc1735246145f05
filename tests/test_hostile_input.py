"""Input that a fresh pair of eyes broke the engine with, kept small."""

import copy
import pickle
import stat
from dataclasses import asdict
from operator import methodcaller
from pathlib import Path

import numpy as np
import pytest

from engine import (
    AdamW,
    AdamWConfig,
    CacheFull,
    Decoder,
    DecoderConfig,
    DecodeTokenOutOfRange,
    GenerationRequest,
    InvalidConfig,
    InvalidTopK,
    KVCache,
    Parameter,
    PromptTooLong,
    SplitMix64,
    Work,
    generate,
    save,
)
from reference import generate_by_replay
from tests.models import ADAMW, TINY, World, decoder_of

LONG = 10**5_000
"""More digits than Python agrees to print."""


def test_long_integers_are_refused_in_a_sentence() -> None:
    world = World.prefilled()
    with pytest.raises(DecodeTokenOutOfRange) as refusal:
        world.session.decode(LONG)

    assert "16610 bits" in str(refusal.value)
    assert "16610 bits" in repr(refusal.value)
    assert refusal.value.token_id == LONG
    assert "bits" in str(InvalidTopK(LONG, 3))


@pytest.mark.parametrize("field", ["vocab_size", "d_model", "n_layers", "capacity"])
@pytest.mark.parametrize("value", [LONG, -LONG], ids=["positive", "negative"])
def test_long_sizes_are_no_configuration(field: str, value: int) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        DecoderConfig(**(asdict(TINY) | {field: value}))

    assert (refusal.value.field, refusal.value.value) == (field, value)
    assert field in str(refusal.value)


class Wavering:
    """An integer that is another one when asked again."""

    def __init__(self) -> None:
        self.asked = 0

    def __index__(self) -> int:
        self.asked += 1
        return 0 if self.asked == 1 else 2**70


def test_counter_is_asked_for_its_value_once() -> None:
    work = Work(token_forwards=Wavering())  # type: ignore[arg-type] # what is tried

    assert KVCache(decoder_of(), work=work).work == Work()


@pytest.mark.parametrize(
    "value", [np.array([7.0, "x"], dtype=object), "7", None, 1j, [1.0]]
)
def test_spare_rows_take_a_number_or_stay(value: object) -> None:
    cache = World.prefilled().cache
    before = cache.snapshot()
    with pytest.raises(TypeError):
        cache.fill_spare(value)  # type: ignore[arg-type] # what is tried

    assert cache.snapshot() == before


def test_spare_rows_take_infinity() -> None:
    cache = World.prefilled().cache
    cache.fill_spare(np.inf)

    assert cache.length == len(cache.layers[0].keys[0])


@pytest.mark.parametrize("vocab_size", [2**58 - 1, 2**58 - 20, 2**70])
def test_space_that_nobody_has_is_a_memory_error(vocab_size: int) -> None:
    config = DecoderConfig(
        vocab_size=vocab_size,
        d_model=4,
        n_heads=1,
        n_kv_heads=1,
        d_ff=1,
        n_layers=0,
        capacity=1,
        rope_base=10.0,
        rms_epsilon=0.0,
    )
    rng = SplitMix64(38)
    with pytest.raises(MemoryError):
        Decoder.initialize(config, rng)

    assert rng.state == 38


def test_nothing_is_constructed_twice() -> None:
    world = World.prefilled()
    before, parameters = world.everything(), world.decoder.parameters
    again: tuple[tuple[object, tuple[object, ...]], ...] = (
        (parameters[0], (parameters[0].name, 2 * parameters[0].value)),
        (world.cache, (world.decoder,)),
        (world.decoder, (world.decoder.config, decoder_of().parameters)),
    )
    for made, arguments in again:
        methodcaller("__init__", *arguments)(made)

    assert world.everything() == before
    assert world.decoder.parameters is parameters


@pytest.mark.parametrize("record", [TINY, ADAMW])
def test_records_never_change_and_are_rebuilt(
    record: DecoderConfig | AdamWConfig,
) -> None:
    before = repr(record)
    with pytest.raises(TypeError):
        record.__setstate__([5.0] * 9)

    assert repr(record) == before
    assert copy.copy(record) == copy.deepcopy(record) == record
    assert pickle.loads(pickle.dumps(record)) == record


def test_optimizer_copies_step_apart() -> None:
    decoder, optimizer = decoder_of(), AdamW(ADAMW)
    ones = [np.ones_like(each.value) for each in decoder.parameters]
    optimizer.step(decoder.parameters, ones)
    copies = [
        copy.copy(optimizer),
        copy.deepcopy(optimizer),
        pickle.loads(pickle.dumps(optimizer)),
    ]
    optimizer.step(decoder.parameters, ones)

    assert [each.snapshot().step for each in copies] == [1, 1, 1]


@pytest.mark.parametrize(
    "error",
    [PromptTooLong(n_tokens=3, capacity=2), CacheFull(capacity=2), PromptTooLong(3, 2)],
)
def test_errors_keep_what_they_were_given_as_keywords(
    error: PromptTooLong | CacheFull,
) -> None:
    error.add_note("noted")
    again = pickle.loads(pickle.dumps(error))

    assert repr(again) == repr(error) == repr(copy.copy(error))
    assert again.__notes__ == ["noted"]


@pytest.mark.parametrize("mode", [None, "greedy", object])
def test_unknown_mode_is_refused_on_both_paths(mode: object) -> None:
    decoder, rng = decoder_of(), SplitMix64(1)
    request = GenerationRequest(
        mode=mode,  # type: ignore[arg-type] # what is tried
        eos_token=None,
        max_new_tokens=1,
    )

    with pytest.raises(TypeError):
        generate(decoder, [0], request, rng)
    with pytest.raises(TypeError):
        generate_by_replay(decoder.config, decoder.weights, [0], request, rng)
    assert rng.state == 1


@pytest.mark.parametrize("parameter", [None, "name", Parameter])
def test_step_takes_parameters(parameter: object) -> None:
    world = World.closed()
    before = world.everything()

    with pytest.raises(TypeError):
        world.optimizer.step([parameter], [np.ones(1)])  # type: ignore[list-item] # what is tried

    assert world.everything() == before


def test_saved_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "decoder.safetensors"
    save(path, decoder_of())
    path.chmod(0o600)
    save(path, decoder_of())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
