"""Checkpoints: to the bit, all or nothing, and what is no checkpoint."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TypeAlias

import numpy as np
import pytest
import safetensors.numpy

from engine.adamw import AdamWConfig, AdamWSnapshot, Moment
from engine.arrays import Array
from engine.checkpoint import load, save
from engine.config import DecoderConfig
from engine.decoder import Decoder
from engine.errors import FileRejected, InvalidConfig
from engine.optimizer import AdamW
from engine.parameters import Parameter, held_by
from engine.splitmix import SplitMix64

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Document: TypeAlias = dict[str, Json]
Tensors: TypeAlias = dict[str, Array]

ROOT = Path(__file__).parents[1]
KEY = "cachehound"
EMBEDDING = "token_embedding.weight"
FIRST = f"optimizer.first_moment.{EMBEDDING}"
SECOND = f"optimizer.second_moment.{EMBEDDING}"


def _decoder(seed: int = 38) -> Decoder:
    config = DecoderConfig(
        vocab_size=3,
        d_model=2,
        n_heads=1,
        n_kv_heads=1,
        d_ff=1,
        n_layers=1,
        capacity=2,
        rope_base=0.1 + 0.2,
        rms_epsilon=5e-324,
    )
    return Decoder.initialize(config, SplitMix64(seed))


def _optimizer() -> AdamW:
    return AdamW(
        AdamWConfig(
            learning_rate=0.1 + 0.2,
            beta1=1 / 3,
            beta2=0.999,
            epsilon=1e-8,
            weight_decay=0.0,
        )
    )


def _step(decoder: Decoder, optimizer: AdamW) -> None:
    gradients = [parameter.value / 3 for parameter in decoder.parameters]
    optimizer.step(decoder.parameters, gradients)


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """Where to save; at the end there is nothing else."""
    folder = tmp_path / "folder"
    folder.mkdir()
    yield folder / "file"

    assert {each.name for each in folder.iterdir()} <= {"file"}


@pytest.fixture
def saved(path: Path) -> Path:
    """A file with all there can be: a stepped decoder, its optimizer, a generator."""
    decoder, optimizer = _decoder(), _optimizer()
    _step(decoder, optimizer)
    save(path, decoder, optimizer, SplitMix64(2**64 - 1))
    return path


# To the bit.


def test_checkpoint_of_a_decoder_alone(path: Path) -> None:
    decoder = _decoder()
    save(path, decoder)
    loaded = load(path)

    assert repr(loaded.decoder.config) == repr(decoder.config)
    assert held_by(loaded.decoder.parameters) == held_by(decoder.parameters)
    assert (loaded.optimizer, loaded.rng) == (None, None)


def test_checkpoint_of_everything(path: Path) -> None:
    decoder, optimizer, rng = _decoder(), _optimizer(), SplitMix64(2**64 - 1)
    for _ in range(3):
        _step(decoder, optimizer)
    values = [parameter.value.tobytes() for parameter in decoder.parameters]
    save(os.fspath(path), decoder, optimizer, rng)
    loaded = load(os.fspath(path))

    assert [each.value.tobytes() for each in loaded.decoder.parameters] == values
    assert {each.revision for each in loaded.decoder.parameters} == {0}
    assert {each.revision for each in decoder.parameters} == {3}
    assert loaded.optimizer is not None
    assert loaded.optimizer.snapshot() == optimizer.snapshot()
    assert loaded.rng is not None
    assert loaded.rng.state == rng.state == 2**64 - 1


def test_checkpoint_of_an_optimizer_before_its_first_step(path: Path) -> None:
    save(path, _decoder(), _optimizer())
    loaded = load(path)

    assert loaded.optimizer is not None
    assert loaded.optimizer.snapshot() == _optimizer().snapshot()


def test_checkpoint_of_an_optimizer_with_parameters_of_its_own(path: Path) -> None:
    decoder, optimizer = _decoder(), _optimizer()
    other = Parameter("other", np.array([0.5, -0.0]))
    optimizer.step([other, *decoder.parameters[:1]], [other.value, np.ones((3, 2))])
    save(path, decoder, optimizer)
    loaded = load(path)

    assert loaded.optimizer is not None
    assert loaded.optimizer.snapshot() == optimizer.snapshot()


def test_loaded_optimizer_goes_on_as_the_saved_one(saved: Path) -> None:
    decoder, optimizer = _decoder(), _optimizer()
    _step(decoder, optimizer)
    loaded = load(saved)
    assert loaded.optimizer is not None
    _step(decoder, optimizer)
    _step(loaded.decoder, loaded.optimizer)

    assert [each.value.tobytes() for each in loaded.decoder.parameters] == [
        each.value.tobytes() for each in decoder.parameters
    ]


def test_equal_states_give_equal_bytes(saved: Path) -> None:
    """A process of its own has its own random order of hashed keys."""
    again = (
        "import sys; from engine.checkpoint import load, save; old = load(sys.argv[1]);"
        "save(sys.argv[1], old.decoder, old.optimizer, old.rng)"
    )
    content = saved.read_bytes()
    for _ in range(3):
        subprocess.run([sys.executable, "-c", again, saved], cwd=ROOT, check=True)

        assert saved.read_bytes() == content


def test_checkpoint_keeps_the_sign_of_zero(path: Path) -> None:
    made = _decoder()
    values = [np.copysign(0.0, parameter.value) for parameter in made.parameters]
    names = [parameter.name for parameter in made.parameters]
    decoder = Decoder(made.config, map(Parameter, names, values))
    save(path, decoder)

    assert held_by(load(path).decoder.parameters) == held_by(decoder.parameters)


def test_checkpoint_is_of_one_moment(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step between two looks, as another thread would take it."""
    decoder, optimizer = _decoder(), _optimizer()
    look = AdamW.snapshot
    looks = []

    def look_after_a_step(self: AdamW) -> AdamWSnapshot:
        looks.append(self)
        if len(looks) == 1:
            _step(decoder, self)
        return look(self)

    monkeypatch.setattr(AdamW, "snapshot", look_after_a_step)
    save(path, decoder, optimizer)
    monkeypatch.undo()
    loaded = load(path)

    assert [each.value.tobytes() for each in loaded.decoder.parameters] == [
        each.value.tobytes() for each in decoder.parameters
    ]
    assert loaded.optimizer is not None
    assert loaded.optimizer.snapshot() == optimizer.snapshot()


# All or nothing.


def test_save_replaces_what_was_there(saved: Path) -> None:
    save(saved, _decoder(seed=1))

    assert held_by(load(saved).decoder.parameters) == held_by(_decoder(1).parameters)


def test_save_gives_the_permissions_that_the_umask_leaves(path: Path) -> None:
    mask = os.umask(0o027)
    try:
        save(path, _decoder())
    finally:
        os.umask(mask)

    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("exists", [True, False])
def test_save_replaces_what_a_link_refers_to(path: Path, *, exists: bool) -> None:
    link = path.parent.parent / "link"
    link.symlink_to(Path("folder", "file"))
    if exists:
        path.write_bytes(b"old")
    save(link, _decoder())

    assert link.is_symlink()
    assert path.read_bytes() == link.read_bytes() != b"old"


@pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt()])
@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize("is_new", [True, False])
def test_failed_save_leaves_no_trace(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    function: str,
    *,
    is_new: bool,
) -> None:
    def fail(*_: object) -> None:
        raise error

    if not is_new:
        path.write_bytes(b"old")
    decoder, optimizer, rng = _decoder(), _optimizer(), SplitMix64(3)
    before = (held_by(decoder.parameters), optimizer.snapshot(), rng.state)
    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(type(error)):
            save(path, decoder, optimizer, rng)

    assert path.exists() is not is_new
    assert is_new or path.read_bytes() == b"old"
    assert (held_by(decoder.parameters), optimizer.snapshot(), rng.state) == before


def test_save_succeeds_where_directories_cannot_be_flushed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []

    def fail_second(descriptor: int) -> None:
        flushed.append(descriptor)
        if len(flushed) == 2:
            raise OSError(22, "no such thing")

    monkeypatch.setattr(os, "fsync", fail_second)
    save(path, _decoder())

    assert len(flushed) == 2
    assert held_by(load(path).decoder.parameters) == held_by(_decoder().parameters)


def test_save_refuses_moments_of_another_shape(saved: Path) -> None:
    content = saved.read_bytes()
    moment = Moment.zero(EMBEDDING, (2, 3))
    config = _optimizer().config
    snapshot = AdamWSnapshot(
        config=config, step=1, beta1_power=0.0, beta2_power=0.0, moments=(moment,)
    )

    with pytest.raises(FileRejected) as refusal:
        save(saved, _decoder(), AdamW.restored(snapshot))

    assert refusal.value.part == FIRST
    assert saved.read_bytes() == content


def test_save_refuses_a_generator_without_a_valid_state(saved: Path) -> None:
    content = saved.read_bytes()

    with pytest.raises(InvalidConfig):
        save(saved, _decoder(), rng=SimpleNamespace(state=2**64))

    assert saved.read_bytes() == content


def test_errors_of_the_system_pass_as_they_are(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(FileNotFoundError):
        save(path / "below", _decoder())
    with pytest.raises(IsADirectoryError):
        load(path.parent)
    with pytest.raises(OSError, match=r"directory|exists"):
        save(path.parent, _decoder())


# What is no checkpoint.


def _rejected(path: Path, content: bytes) -> tuple[str, str]:
    """Part and reason."""
    path.write_bytes(content)
    with pytest.raises(FileRejected) as refusal:
        load(path)
    assert refusal.value.path == os.fspath(path)
    return refusal.value.part, refusal.value.reason


def test_file_cut_short_anywhere_is_rejected(saved: Path) -> None:
    content = saved.read_bytes()
    parts = {_rejected(saved, content[:size])[0] for size in range(len(content))}

    assert parts == {"container"}


def test_file_with_more_behind_it_is_rejected(saved: Path) -> None:
    part, _ = _rejected(saved, saved.read_bytes() + b"\0")

    assert part == "container"


def test_file_of_random_bytes_is_rejected(path: Path) -> None:
    random = Random(0)  # noqa: S311 # bytes to read, not a secret
    parts = {_rejected(path, random.randbytes(size))[0] for size in range(200)}

    assert parts == {"container"}


def test_file_with_any_bit_of_its_head_flipped_loads_or_is_rejected(
    saved: Path,
) -> None:
    """A flipped bit may give another valid number; nothing else is ever raised."""
    content = saved.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    for bit in range(0, end * 8, 7):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(flipped)
        with suppress(FileRejected):
            load(saved)


def test_number_too_long_for_python_is_a_broken_container(path: Path) -> None:
    """The library skips fields that it does not know; Python's JSON reads them."""
    entry = '{"dtype":"F64","shape":[1],"data_offsets":[0,8],"more":' + "1" * 5000 + "}"
    header = f'{{"a":{entry}}}'.encode()
    part, _ = _rejected(path, len(header).to_bytes(8, "little") + header + b"\0" * 8)

    assert part == "container"


@pytest.mark.parametrize("metadata", [None, {}, {"other": "1"}, {KEY: "{}", "a": "b"}])
def test_file_of_another_format_is_rejected(
    path: Path, metadata: dict[str, str] | None
) -> None:
    content = safetensors.numpy.save({"a": np.ones(1)}, metadata)

    assert _rejected(path, content)[0] == "format"


@pytest.mark.parametrize("text", ["", "1", "[]", "{}", "nul", "[" * 10**5, "1" * 5000])
def test_file_of_another_document_is_rejected(path: Path, text: str) -> None:
    content = safetensors.numpy.save({"a": np.ones(1)}, {KEY: text})

    assert _rejected(path, content)[0] == "format"


def _set(keys: Sequence[str], value: Json) -> Callable[[Document], None]:
    def edit(document: Document) -> None:
        *outer, last = keys
        for key in outer:
            inner = document[key]
            assert isinstance(inner, dict)
            document = inner
        document[last] = value

    return edit


def _drop(name: str, inner: str) -> Callable[[Document], None]:
    def edit(document: Document) -> None:
        fields = document[name]
        assert isinstance(fields, dict)
        del fields[inner]

    return edit


_DOCUMENTS: Mapping[str, tuple[str, Callable[[Document], None]]] = {
    "version_2": ("version", _set(["version"], 2)),
    "version_text": ("version", _set(["version"], "1")),
    "version_float": ("version", _set(["version"], 1.0)),
    "version_true": ("version", _set(["version"], value=True)),
    "surplus": ("format", _set(["more"], None)),
    "config_null": ("config", _set(["config"], None)),
    "config_surplus": ("config", _set(["config", "more"], 1)),
    "config_missing": ("config", _drop("config", "d_ff")),
    "config_type": ("config", _set(["config", "d_ff"], 1.0)),
    "config_list": ("config", _set(["config", "d_ff"], [])),
    "config_value": ("config", _set(["config", "n_heads"], 3)),
    "config_nan": ("config", _set(["config", "rope_base"], float("nan"))),
    "config_layers": (
        "blocks.1.attention_norm.gain",
        _set(["config", "n_layers"], 10**15),
    ),
    "config_fewer_layers": (
        "blocks.0.attention.key.weight",
        _set(["config", "n_layers"], 0),
    ),
    "config_width": (EMBEDDING, _set(["config", "d_model"], 10**9)),
    "optimizer_type": ("optimizer", _set(["optimizer"], [])),
    "optimizer_missing": ("optimizer", _drop("optimizer", "step")),
    "optimizer_null": (FIRST.rsplit(".", 2)[0], _set(["optimizer"], None)),
    "optimizer_config": ("optimizer", _set(["optimizer", "config"], 1)),
    "optimizer_constant": ("optimizer", _set(["optimizer", "config", "beta1"], 1)),
    "optimizer_step": ("optimizer", _set(["optimizer", "step"], -1)),
    "optimizer_no_step": ("optimizer", _set(["optimizer", "step"], 0)),
    "optimizer_power_1": ("optimizer", _set(["optimizer", "beta1_power"], 1.0)),
    "optimizer_power_2": ("optimizer", _set(["optimizer", "beta2_power"], -0.1)),
    "optimizer_power_text": ("optimizer", _set(["optimizer", "beta2_power"], "0")),
    "optimizer_names": ("optimizer", _set(["optimizer", "names"], "abc")),
    "optimizer_name_type": ("optimizer", _set(["optimizer", "names"], [1])),
    "optimizer_name_list": ("optimizer", _set(["optimizer", "names"], [[]])),
    "optimizer_name_twice": ("optimizer", _set(["optimizer", "names"], ["a", "a"])),
    "optimizer_name_unknown": (
        "optimizer.first_moment.a",
        _set(["optimizer", "names"], ["a"]),
    ),
    "rng_large": ("rng", _set(["rng"], 2**64)),
    "rng_negative": ("rng", _set(["rng"], -1)),
    "rng_true": ("rng", _set(["rng"], value=True)),
    "rng_text": ("rng", _set(["rng"], "0")),
}


@pytest.mark.parametrize("case", _DOCUMENTS)
def test_malformed_document_is_rejected(saved: Path, case: str) -> None:
    part, edit = _DOCUMENTS[case]
    document, tensors = _opened(saved)
    edit(document)
    content = safetensors.numpy.save(tensors, {KEY: json.dumps(document)})

    assert _rejected(saved, content)[0].startswith(part)


def _times(name: str, factor: float) -> Callable[[Tensors], None]:
    def edit(tensors: Tensors) -> None:
        with np.errstate(invalid="ignore"):
            tensors[name] = tensors[name] * factor

    return edit


def _as(name: str, dtype: str) -> Callable[[Tensors], None]:
    def edit(tensors: Tensors) -> None:
        tensors[name] = tensors[name].astype(dtype)

    return edit


def _shaped(*names: str, shape: tuple[int, ...]) -> Callable[[Tensors], None]:
    def edit(tensors: Tensors) -> None:
        for name in names:
            tensors[name] = np.ones(shape)

    return edit


def _without(name: str) -> Callable[[Tensors], None]:
    def edit(tensors: Tensors) -> None:
        del tensors[name]

    return edit


_TENSORS: Mapping[str, tuple[str, str, Callable[[Tensors], None]]] = {
    "missing": (EMBEDDING, "missing", _without(EMBEDDING)),
    "surplus": ("more", "surplus", _shaped("more", shape=(1,))),
    "dtype": (EMBEDDING, "F32", _as(EMBEDDING, "f4")),
    "integers": (EMBEDDING, "I64", _as(EMBEDDING, "i8")),
    "transposed": (EMBEDDING, "shape", _shaped(EMBEDDING, shape=(2, 3))),
    "empty": (EMBEDDING, "shape", _shaped(EMBEDDING, shape=(0,))),
    "infinite": (EMBEDDING, "finite", _times(EMBEDDING, np.inf)),
    "nan": (EMBEDDING, "finite", _times(EMBEDDING, np.nan)),
    "half_moment_1": (FIRST, "missing", _without(FIRST)),
    "half_moment_2": (SECOND, "missing", _without(SECOND)),
    "moment_dtype": (SECOND, "F32", _as(SECOND, "f4")),
    "moment_shape": (SECOND, "shape", _shaped(SECOND, shape=(2, 3))),
    "moment_shapes": (FIRST, "shape", _shaped(FIRST, SECOND, shape=(2, 3))),
    "moment_nan": (FIRST, "finite", _times(FIRST, np.nan)),
    "moment_negative": (SECOND, "negative", _times(SECOND, -1)),
}


@pytest.mark.parametrize("case", _TENSORS)
def test_malformed_tensor_is_rejected(saved: Path, case: str) -> None:
    part, reason, edit = _TENSORS[case]
    document, tensors = _opened(saved)
    edit(tensors)
    content = safetensors.numpy.save(tensors, {KEY: json.dumps(document)})
    found = _rejected(saved, content)

    assert found[0] == part
    assert reason in found[1]


def test_tensor_of_too_many_dimensions_is_rejected(saved: Path) -> None:
    document, _ = _opened(saved)
    shape = [1] * 65
    header = {
        "__metadata__": {KEY: json.dumps(document)},
        EMBEDDING: {"dtype": "F64", "shape": shape, "data_offsets": [0, 8]},
    }
    head = json.dumps(header).encode()
    content = len(head).to_bytes(8, "little") + head + b"\0" * 8

    assert _rejected(saved, content)[0] == EMBEDDING


def _opened(path: Path) -> tuple[Document, Tensors]:
    """The document and the tensors of a good file."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    document: Document = json.loads(json.loads(content[8:end])["__metadata__"][KEY])
    return document, safetensors.numpy.load(content)
