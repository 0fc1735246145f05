"""Damaged files: what ``load`` makes of them, and at what expense."""

import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np
from hypothesis import given, settings, strategies as st

from engine import AdamW, Decoder, FileRejected, Loaded, SplitMix64, load, save
from properties.hostile.damage import DAMAGED, Damage
from properties.hostile.judging import require_readable
from properties.hostile.world import ADAMW, CONFIG
from properties.inconsistency import Inconsistent, require_alike

BYTES_A_BYTE: Final = 40
"""What a reader may take for each byte of a file: objects of JSON are that large."""
BYTES_ANYWAY: Final = 200_000


def hunt_files(
    folder: Path, outcomes: Counter[tuple[str, str]], length: settings
) -> None:
    """Read damaged files.

    Args:
        folder: where they are
        outcomes: takes how often damage of each kind ended how
        length: how many files

    Raises:
        Inconsistent: the smallest damage that was not withstood.
    """
    content = saved(folder / "whole")

    @settings(length)
    @given(st.lists(DAMAGED, min_size=1, max_size=3))
    def withstands(damages: list[Damage]) -> None:
        damaged = content
        for damage in damages:
            damaged = damage.done(damaged)
        outcome = judged(folder / "damaged", damaged, f"{damages}")
        outcomes.update((damage.kind, outcome) for damage in damages)

    withstands()


def saved(path: Path) -> bytes:
    """A small file with all that there can be in one."""
    decoder = Decoder.initialize(CONFIG, SplitMix64(38))
    optimizer = AdamW(ADAMW)
    ones = [np.ones(each.value.shape) for each in decoder.parameters]
    optimizer.step(decoder.parameters, ones)
    save(path, decoder, optimizer, SplitMix64(1))
    return path.read_bytes()


def judged(path: Path, content: bytes, where: str) -> str:
    """Read a file, and say how that ended.

    Raises:
        Inconsistent: not as it must, or at too great an expense.
    """
    path.write_bytes(content)
    tracemalloc.start()
    try:
        loaded = load(path)
    except FileRejected as error:
        require_readable(where, error)
        return "rejected"
    except Exception as error:
        raise Inconsistent(f"{where}: raised {type(error).__name__}") from error
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if peak > BYTES_A_BYTE * len(content) + BYTES_ANYWAY:
            raise Inconsistent(f"{where}: took {peak} bytes to read {len(content)}")
    save(path, loaded.decoder, loaded.optimizer, loaded.rng)
    require_alike(where, _held(loaded), _held(load(path)))
    return "loaded"


def _held(loaded: Loaded) -> tuple[object, ...]:
    return (
        repr(loaded.decoder.config),
        tuple(each.value.tobytes() for each in loaded.decoder.parameters),
        loaded.optimizer and loaded.optimizer.snapshot(),
        loaded.rng and loaded.rng.state,
    )
