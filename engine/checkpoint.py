"""Checkpoints: a decoder, its optimizer and a generator in one safetensors file."""

import operator
import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.adamw import AdamWSnapshot
from engine.decoder import Decoder
from engine.optimizer import AdamW
from engine.parameters import Held, held_by
from engine.request import HasState
from engine.serialization import deserialized, serialized
from engine.splitmix import SplitMix64
from engine.undo import or_undo


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What a file held; ``None`` for what was not saved. Revisions start at 0."""

    decoder: Decoder
    optimizer: AdamW | None
    rng: SplitMix64 | None


def save(
    path: str | os.PathLike[str],
    decoder: Decoder,
    optimizer: AdamW | None = None,
    rng: HasState | None = None,
) -> None:
    """Write one file in one step; equal states give equal bytes.

    The values of all parameters and of the optimizer are those of one moment. A
    symbolic link stays, and what it refers to is replaced; permissions stay.

    Raises:
        FileRejected: the optimizer's moments do not fit the decoder's parameters, so
            that ``load`` would refuse the file; an older file is untouched.
        InvalidConfig: ``rng`` has no valid state; an older file is untouched.
        OSError: the file cannot be written; an older file is untouched.
    """
    held, snapshot = _one_moment(decoder, optimizer)
    generator = None if rng is None else SplitMix64(rng.state)
    content = serialized(decoder, held, snapshot, generator)
    deserialized(os.fspath(path), content)  # what cannot be loaded is not written
    _replace_file(Path(os.path.realpath(path)), content)


def load(path: str | os.PathLike[str]) -> Loaded:
    """Read what ``save`` wrote, to the bit.

    Raises:
        FileRejected: the file is not one that ``save`` writes; nothing was made.
        OSError: the file cannot be read; nothing was made.
    """
    content = Path(path).read_bytes()
    decoder, optimizer, rng = deserialized(os.fspath(path), content)
    return Loaded(decoder=decoder, optimizer=optimizer, rng=rng)


def _one_moment(
    decoder: Decoder, optimizer: AdamW | None
) -> tuple[tuple[Held, ...], AdamWSnapshot | None]:
    """All values, and the optimizer while none of them was replaced."""
    while True:
        held = held_by(decoder.parameters)
        snapshot = None if optimizer is None else optimizer.snapshot()
        if all(map(operator.is_, held, held_by(decoder.parameters))):
            return held, snapshot


def _replace_file(target: Path, content: bytes) -> None:
    """Make ``content`` the file's content: all of it, or nothing."""
    partial = target.with_name(f".{secrets.token_hex(16)}.partial")

    def write() -> None:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(target, partial)
        os.replace(partial, target)  # noqa: PTH105 # Path.replace is this, less plainly

    or_undo(write, lambda: partial.unlink(missing_ok=True))
    # The new file is whole by now, so a system that cannot flush a directory is no
    # reason to report a failure, which would mean that the older file is still there.
    with suppress(OSError):
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
