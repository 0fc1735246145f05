"""Saving replaces a whole file or nothing."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.adamw import AdamWSnapshot, Moment
from engine.checkpoint import load, save
from engine.errors import FileRejected, InvalidConfig
from engine.optimizer import AdamW
from engine.parameters import held_by
from engine.splitmix import SplitMix64
from tests.models import EMBEDDING
from tests.odd_numbers import odd_decoder, odd_optimizer


def test_save_replaces_what_was_there(saved: Path) -> None:
    save(saved, odd_decoder(seed=1))

    assert held_by(load(saved).decoder.parameters) == held_by(
        odd_decoder(seed=1).parameters
    )


def test_save_gives_the_permissions_that_the_umask_leaves(path: Path) -> None:
    mask = os.umask(0o027)
    try:
        save(path, odd_decoder())
    finally:
        os.umask(mask)

    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("exists", [True, False])
def test_save_replaces_what_a_link_refers_to(path: Path, *, exists: bool) -> None:
    link = path.parent.parent / "link"
    link.symlink_to(Path("folder", "file"))
    if exists:
        path.write_bytes(b"old")
    save(link, odd_decoder())

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
    decoder, optimizer, rng = odd_decoder(), odd_optimizer(), SplitMix64(3)
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
    save(path, odd_decoder())

    assert len(flushed) == 2
    assert held_by(load(path).decoder.parameters) == held_by(odd_decoder().parameters)


def test_save_refuses_moments_of_another_shape(saved: Path) -> None:
    content = saved.read_bytes()
    moment = Moment.zero(EMBEDDING, (2, 3))
    config = odd_optimizer().config
    snapshot = AdamWSnapshot(
        config=config, step=1, beta1_power=0.0, beta2_power=0.0, moments=(moment,)
    )

    with pytest.raises(FileRejected) as refusal:
        save(saved, odd_decoder(), AdamW.restored(snapshot))

    assert refusal.value.part == f"optimizer.first_moment.{EMBEDDING}"
    assert saved.read_bytes() == content


def test_save_refuses_a_generator_without_a_valid_state(saved: Path) -> None:
    content = saved.read_bytes()

    with pytest.raises(InvalidConfig):
        save(saved, odd_decoder(), rng=SimpleNamespace(state=2**64))

    assert saved.read_bytes() == content


def test_errors_of_the_system_pass_as_they_are(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(FileNotFoundError):
        save(path / "below", odd_decoder())
    with pytest.raises(IsADirectoryError):
        load(path.parent)
    with pytest.raises(OSError, match=r"directory|exists"):
        save(path.parent, odd_decoder())
