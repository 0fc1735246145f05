"""Files that nobody saved: each is refused, and in a sentence."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest
import safetensors.numpy

from engine import AdamW, FileRejected, SplitMix64, load, save
from tests.models import ADAMW, decoder_of

KEY: Final = "cachehound"
LONG: Final = "x" * 10**6


def refused(path: Path, content: bytes) -> FileRejected:
    path.write_bytes(content)
    with pytest.raises(FileRejected) as refusal:
        load(path)
    assert len(str(refusal.value)) < 1_000
    return refusal.value


def parts(path: Path) -> tuple[str, dict[str, np.ndarray[tuple[int, ...]]]]:
    """The document and the tensors of a file with everything in it."""
    save(path, decoder_of(), AdamW(ADAMW), SplitMix64(1))
    content = path.read_bytes()
    head = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return head["__metadata__"][KEY], safetensors.numpy.load(content)


def test_long_name_is_cut(path: Path) -> None:
    document, tensors = parts(path)
    tensors[LONG] = np.ones(1)

    refusal = refused(path, safetensors.numpy.save(tensors, {KEY: document}))

    assert refusal.reason == "is surplus"
    assert LONG.startswith(refusal.part.removesuffix("…"))


def test_long_names_of_metadata_are_cut(path: Path) -> None:
    content = safetensors.numpy.save({"a": np.ones(1)}, {LONG: "", "b": LONG})

    assert refused(path, content).part == "format"


def test_what_the_library_says_is_cut(path: Path) -> None:
    entry = {"dtype": LONG, "shape": [1], "data_offsets": [0, 8]}
    head = json.dumps({"a": entry}).encode()

    content = len(head).to_bytes(8, "little") + head + b"\0" * 8

    assert refused(path, content).part == "container"


def _field(part: str, field: str) -> Callable[[str, str], str]:
    def put(document: str, text: str) -> str:
        parsed = json.loads(document)
        parsed[part][field] = "here"
        return json.dumps(parsed).replace('"here"', text)

    return put


def _whole(part: str) -> Callable[[str, str], str]:
    def put(document: str, text: str) -> str:
        return json.dumps(json.loads(document) | {part: "here"}).replace('"here"', text)

    return put


PLACES: Final = {
    "version": _whole("version"),
    "rng": _whole("rng"),
    "config": _field("config", "d_ff"),
    "step": _field("optimizer", "step"),
    "power": _field("optimizer", "beta1_power"),
    "names": _field("optimizer", "names"),
}


def _depths() -> Iterator[int]:
    """Around the one at which Python can read a list and cannot print it."""
    yield from (2, 10, 100)
    yield from range(750, 1_000)


@pytest.mark.parametrize("place", PLACES)
def test_nested_lists_are_refused_at_any_depth(path: Path, place: str) -> None:
    document, tensors = parts(path)
    for depth in _depths():
        nested = PLACES[place](document, "[" * depth + "]" * depth)
        refused(path, safetensors.numpy.save(tensors, {KEY: nested}))
