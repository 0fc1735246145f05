"""Checkpoints: a decoder, its optimizer and a generator in one safetensors file."""

import operator
import os
from dataclasses import dataclass

from engine.adamw import AdamWSnapshot
from engine.decoder import Decoder
from engine.files import exact_path, read_file, replace_file
from engine.kinds import require_kind
from engine.optimizer import AdamW
from engine.parameters import Held, held_by
from engine.request import HasState
from engine.serialization import deserialized, serialized
from engine.splitmix import SplitMix64, state_of


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
        FileRejected: the path can be of no file, or of something else; or the
            optimizer's moments do not fit the decoder's parameters, so that ``load``
            would refuse the file. An older file is untouched.
        InvalidConfig: ``rng`` has no valid state; an older file is untouched.
        TypeError: an argument is of another kind; an older file is untouched.
        OSError: the file cannot be written; an older file is untouched.
    """
    require_kind(decoder, Decoder)
    if optimizer is not None:
        require_kind(optimizer, AdamW)
    given = exact_path(path)
    held, snapshot = _one_moment(decoder, optimizer)
    generator = None if rng is None else SplitMix64(state_of(rng))
    content = serialized(decoder, held, snapshot, generator)
    deserialized(given, content)  # what cannot be loaded is not written
    replace_file(given, content)


def load(path: str | os.PathLike[str]) -> Loaded:
    """Read what ``save`` wrote, to the bit.

    Raises:
        FileRejected: the file is not one that ``save`` writes; nothing was made.
        TypeError: the path is none; nothing was made.
        OSError: the file cannot be read; nothing was made.
    """
    given = exact_path(path)
    decoder, optimizer, rng = deserialized(given, read_file(given))
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
