"""Checkpoints of both dtypes, and those from before there were two."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from engine import AdamW, Decoder, FileRejected, Parameter, SplitMix64, load, save
from engine.arrays import Array
from tests.models import ADAMW, EMBEDDING, GROUPED, SINGLE, decoder_of, held, ones_for

KEY = "cachehound"
SECOND = f"optimizer.second_moment.{EMBEDDING}"


def stepped() -> tuple[Decoder, AdamW]:
    decoder, optimizer = decoder_of(SINGLE), AdamW(ADAMW)
    optimizer.step(decoder.parameters, ones_for(decoder.parameters))
    return decoder, optimizer


def opened(path: Path) -> tuple[dict[str, dict[str, object]], dict[str, Array]]:
    """What is no tensor, and the tensors."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    text = json.loads(content[8:end])["__metadata__"][KEY]
    return json.loads(text), safetensors.numpy.load(content)


def test_checkpoint_gives_back_every_bit(path: Path) -> None:
    decoder, optimizer = stepped()
    save(path, decoder, optimizer, SplitMix64(7))
    loaded = load(path)
    content = path.read_bytes()
    save(path, loaded.decoder, loaded.optimizer, loaded.rng)

    assert loaded.decoder.config == decoder.config
    assert [each.value.tobytes() for each in loaded.decoder.parameters] == [
        each.value.tobytes() for each in decoder.parameters
    ]
    assert loaded.optimizer is not None
    assert loaded.optimizer.snapshot() == optimizer.snapshot()
    assert path.read_bytes() == content
    assert {each.dtype.name for each in opened(path)[1].values()} == {"float32"}


def test_loaded_optimizer_goes_on_as_the_saved_one(path: Path) -> None:
    decoder, optimizer = stepped()
    save(path, decoder, optimizer)
    loaded = load(path)
    assert loaded.optimizer is not None
    for owner, stepper in ((decoder, optimizer), (loaded.decoder, loaded.optimizer)):
        stepper.step(owner.parameters, ones_for(owner.parameters))

    assert loaded.optimizer.snapshot() == optimizer.snapshot()
    assert [bits for _, bits, _ in held(loaded.decoder)] == [
        bits for _, bits, _ in held(decoder)
    ]


def test_moments_of_parameters_of_its_own_keep_their_dtype(path: Path) -> None:
    optimizer = AdamW(ADAMW)
    given = [Parameter("wide", [0.5]), Parameter("narrow", np.ones(1, np.float32))]
    optimizer.step(given, ones_for(given))
    save(path, decoder_of(SINGLE), optimizer)
    loaded = load(path).optimizer

    assert loaded is not None
    assert loaded.snapshot() == optimizer.snapshot()
    assert [each.dtype for each in loaded.snapshot().moments] == ["float64", "float32"]


def test_dtype_is_written_only_where_it_is_not_float64(path: Path) -> None:
    """Files of float64 are what they were when there was no other."""
    save(path, decoder_of(GROUPED))
    assert "dtype" not in opened(path)[0]["config"]

    save(path, decoder_of(SINGLE))
    assert opened(path)[0]["config"]["dtype"] == "float32"


def test_float64_may_be_written_out(path: Path) -> None:
    save(path, decoder_of(GROUPED))
    document, tensors = opened(path)
    document["config"]["dtype"] = "float64"
    path.write_bytes(safetensors.numpy.save(tensors, {KEY: json.dumps(document)}))

    assert load(path).decoder.config == GROUPED


def narrow(array: Array) -> Array:
    return array.astype(np.float16)


def widen(array: Array) -> Array:
    return array.astype(np.float64)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        (EMBEDDING, widen, "has the dtype F64, not F32"),
        (EMBEDDING, narrow, "has the dtype F16, not F32"),
        (SECOND, widen, "has the dtype F64, not F32"),
        ("optimizer.first_moment.own", narrow, "has the dtype F16, not F64 or F32"),
        ("optimizer.second_moment.own", widen, "has the dtype F64, not F32"),
    ],
)
def test_tensor_of_another_dtype_is_refused(
    path: Path, name: str, change: Callable[[Array], Array], reason: str
) -> None:
    decoder, optimizer = decoder_of(SINGLE), AdamW(ADAMW)
    given = [*decoder.parameters, Parameter("own", np.ones(1, np.float32))]
    optimizer.step(given, ones_for(given))
    save(path, decoder, optimizer)
    document, tensors = opened(path)
    tensors[name] = change(tensors[name])
    path.write_bytes(safetensors.numpy.save(tensors, {KEY: json.dumps(document)}))

    with pytest.raises(FileRejected) as refusal:
        load(path)

    assert (refusal.value.part, refusal.value.reason) == (name, reason)


@pytest.mark.parametrize("dtype", ["F32", "float16", None, 32, ["float32"]])
def test_other_dtype_of_a_configuration_is_refused(path: Path, dtype: object) -> None:
    save(path, decoder_of(SINGLE))
    document, tensors = opened(path)
    document["config"]["dtype"] = dtype
    path.write_bytes(safetensors.numpy.save(tensors, {KEY: json.dumps(document)}))

    with pytest.raises(FileRejected) as refusal:
        load(path)

    assert refusal.value.part == "config"


def test_moments_of_another_dtype_than_the_decoders_are_not_saved(path: Path) -> None:
    _, optimizer = stepped()

    with pytest.raises(FileRejected, match="has the dtype F32, not F64"):
        save(path, decoder_of(GROUPED), optimizer)

    assert not path.exists()
