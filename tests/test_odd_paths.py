"""A path of no file, and a path that leads to something else than a file."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from engine import AdamW, FileRejected, load, save
from tests.models import decoder_of

NAMELESS: Final = ("a\0b", "\ud800", "\0")


@pytest.mark.parametrize("path", NAMELESS, ids=ascii)
def test_no_file_can_have_this_path(path: str) -> None:
    for call in (load, lambda given: save(given, decoder_of())):
        with pytest.raises(FileRejected) as refusal:
            call(path)
        assert (refusal.value.path, refusal.value.part) == (path, "path")


@pytest.mark.parametrize("path", [b"file", 3, None, 1.5])
def test_path_is_text(path: object) -> None:
    with pytest.raises(TypeError):
        load(path)  # type: ignore[arg-type] # what is tried
    with pytest.raises(TypeError):
        save(path, decoder_of())  # type: ignore[arg-type] # what is tried


def test_path_is_asked_for_once(tmp_path: Path) -> None:
    class Wavering(os.PathLike[str]):
        def __init__(self) -> None:
            self.left = [os.fspath(tmp_path / "file")]

        def __fspath__(self) -> str:
            return self.left.pop()

    save(Wavering(), decoder_of())
    assert load(Wavering()).optimizer is None


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.fspath(path))


@pytest.mark.parametrize("make", [_pipe, _socket])
def test_save_replaces_nothing_but_a_file(
    make: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Path("there")
    make(place)  # by a short name, which is all that a socket may have
    kind = stat.S_IFMT(place.stat().st_mode)

    with pytest.raises(FileRejected):
        save(place, decoder_of())

    assert stat.S_IFMT(place.stat().st_mode) == kind
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]


def test_load_waits_for_no_writer(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    with pytest.raises(FileRejected) as refusal:
        load(path)

    assert refusal.value.reason == "is of no regular file"


def test_load_reads_no_device() -> None:
    with pytest.raises(FileRejected):
        load("/dev/null")


@pytest.mark.parametrize("name", ["missing", "loop", "link to nothing", "x" * 300])
def test_system_says_what_cannot_be_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "link to nothing").symlink_to("nothing")

    with pytest.raises(OSError, match=r".") as refusal:
        load(tmp_path / name)

    assert not isinstance(refusal.value, FileRejected)


def test_link_to_a_file_is_read(tmp_path: Path) -> None:
    save(tmp_path / "file", decoder_of())
    (tmp_path / "link").symlink_to("file")

    assert repr(load(tmp_path / "link").decoder) == repr(decoder_of())


@pytest.mark.parametrize("decoder", [None, "decoder", AdamW])
def test_save_takes_a_decoder(decoder: object, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    with pytest.raises(TypeError):
        save(path, decoder)  # type: ignore[arg-type] # what is tried
    with pytest.raises(TypeError):
        save(path, decoder_of(), "optimizer")  # type: ignore[arg-type] # what is tried

    assert path.read_bytes() == b"old"
