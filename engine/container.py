"""The container of a checkpoint: tensors and metadata, and how a file is refused."""

import json
from collections.abc import Sequence
from typing import NamedTuple, Never

from safetensors import SafetensorError, deserialize

from engine.errors import FileRejected
from engine.errors.families import cut


class Tensor(NamedTuple):
    """One tensor, as the file has it."""

    dtype: str
    shape: Sequence[int]
    data: bytearray


def opened(path: str, content: bytes) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The metadata, and the tensors by name.

    Raises:
        FileRejected: it is no such container, or not whole.
    """
    try:
        found = deserialize(content)  # type: ignore[no-untyped-call] # not annotated
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    except (SafetensorError, ValueError) as error:
        reject(path, "container", str(error), error)
    tensors = {
        name: Tensor(tensor["dtype"], tensor["shape"], tensor["data"])
        for name, tensor in found
    }
    return header.get("__metadata__") or {}, tensors


def reject(path: str, part: str, reason: str, cause: Exception | None = None) -> Never:
    """Refuse a file in a short sentence, whatever names and numbers are in it.

    Raises:
        FileRejected: always.
    """
    raise FileRejected(path, cut(part), cut(reason)) from cause
