"""A Hugging Face Llama directory is written whole, or stays, or is refused."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from engine import FileRejected
from engine.container import opened
from engine.llama import read_llama, write_llama
from tests.llamas import bits, blamed, varied
from tests.models import GROUPED, decoder_of

NO_ROOM = (errno.ENOSPC, "no room")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "llama"
    write_llama(folder, varied())
    return folder


def test_older_directory_is_replaced_and_other_files_stay(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    decoder = decoder_of(GROUPED)
    write_llama(folder, decoder)

    assert bits(read_llama(folder)) == bits(decoder)
    assert sorted(each.name for each in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]


@pytest.mark.parametrize("n_replaced", [0, 1, 2])
def test_write_that_stops_mixes_no_two_decoders(
    n_replaced: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that refuses to replace one more file."""
    older, left = bits(varied()), [None] * n_replaced
    replace_at_last = os.replace

    def replace_some(source: Path, target: Path) -> None:
        if not left:
            raise OSError(*NO_ROOM)
        left.pop()
        replace_at_last(source, target)

    monkeypatch.setattr(os, "replace", replace_some)
    with pytest.raises(OSError, match=NO_ROOM[1]):
        write_llama(folder, decoder_of(replace(GROUPED, rope_base=5.0)))
    monkeypatch.undo()

    if n_replaced:
        with pytest.raises(FileRejected) as refusal:
            read_llama(folder)
        assert blamed(refusal.value) == ("config.json", "model_type")
    else:
        assert bits(read_llama(folder)) == older


@pytest.mark.parametrize("n_written", [0, 1])
def test_write_without_room_changes_nothing(
    n_written: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, left = bits(varied()), [None] * n_written
    flush = os.fsync

    def flush_some(file: int) -> None:
        if not left:
            raise OSError(*NO_ROOM)
        left.pop()
        flush(file)

    monkeypatch.setattr(os, "fsync", flush_some)
    with pytest.raises(OSError, match=NO_ROOM[1]):
        write_llama(folder, decoder_of(GROUPED))
    monkeypatch.undo()

    assert bits(read_llama(folder)) == older
    assert not list(folder.glob(".*"))


def test_pipe_in_place_of_weights_changes_nothing(folder: Path) -> None:
    older = (folder / "config.json").read_bytes()
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    with pytest.raises(FileRejected):
        write_llama(folder, decoder_of(GROUPED))

    assert (folder / "config.json").read_bytes() == older


def test_directory_that_is_written_while_it_is_read_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be one decoder's configuration with another's weights."""
    other = decoder_of(replace(varied().config, rope_base=5.0))

    def read_between(path: str, content: bytes) -> object:
        write_llama(folder, other)
        return opened(path, content)

    monkeypatch.setattr("engine.llama.opened", read_between)
    with pytest.raises(FileRejected) as refusal:
        read_llama(folder)

    assert blamed(refusal.value) == ("config.json", "config")


def test_write_takes_a_decoder_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="Decoder"):
        write_llama(tmp_path / "new", GROUPED)  # type: ignore[arg-type] # wrong on purpose
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        write_llama(tmp_path / "file", decoder_of(GROUPED))
