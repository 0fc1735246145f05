"""Damage to the bytes of a saved file: to its head, its document or its data."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from hypothesis import strategies as st

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Spoil: TypeAlias = Callable[[bytes, int, int], bytes]
Edit: TypeAlias = Callable[[Json, int, str], str]

_SIZES: Final = (0, 1, 8, 2**16, 2**31, 2**63, 2**64 - 1)
_RAW: Final = (
    *("null", "true", "-1", "0", "1", "2", "1.5", "1e999", "-0.0", "NaN", "-Infinity"),
    *(str(2**53), str(2**63), str(2**64 - 1), str(2**64), "9" * 400, "9" * 5_000),
    *('""', '"F32"', '"F8_E4M3"', '"F64"', '"\\ud800"', '"\\u0000"'),
    *('"' + "x" * 20_000 + '"', "[]", "{}", "[0]", "[[4]]", "[8,0]", "[0,8]", "[2,2]"),
    *("[18446744073709551615,0]", "[4611686018427387904,0]", f"[0,{2**63 - 1}]"),
    *(f"[{','.join('1' * 65)}]", f"[{','.join('1' * 5_000)}]"),
    *("[" * n + "]" * n for n in (50, 120, 300, 900, 980, 100_000)),
    *('{"a":' * n + "1" + "}" * n for n in (50, 900, 100_000)),
    *("[" * 100_000, "//", ""),
)
_MARK: Final = "here"
_KEY: Final = "cachehound"


@dataclass(frozen=True, slots=True)
class Damage:
    """One change of a file's bytes.

    Attributes:
        kind: which one
        where: in the file, taken round its end
        what: is put there, of what there is
    """

    kind: str
    where: int
    what: int

    def done(self, content: bytes) -> bytes:
        """The damaged bytes."""
        return DAMAGES[self.kind](content, self.where, self.what)


def _split(content: bytes) -> tuple[bytes, bytes]:
    """The head, and the data; of what is no file any more, as much as there is."""
    end = 8 + int.from_bytes(content[:8], "little")
    return content[8:end], content[end:]


def _joined(head: bytes, data: bytes) -> bytes:
    return len(head).to_bytes(8, "little") + head + data


def _flip(content: bytes, start: int, end: int, bit: int) -> bytes:
    """One bit of some of the bytes; of none, none."""
    if end <= start:
        return content
    flipped = bytearray(content)
    at = start * 8 + bit % (8 * (end - start))
    flipped[at // 8] ^= 1 << at % 8
    return bytes(flipped)


def _flip_head(content: bytes, where: int, _: int) -> bytes:
    return _flip(content, 0, min(8 + len(_split(content)[0]), len(content)), where)


def _flip_data(content: bytes, where: int, _: int) -> bytes:
    return _flip(content, len(content) - len(_split(content)[1]), len(content), where)


def _noise(content: bytes, where: int, what: int) -> bytes:
    noise = Random(what).randbytes(where % 200)  # noqa: S311 # noise, and nobody's secret
    return noise + content[len(noise) :]


def _nan(content: bytes, where: int, what: int) -> bytes:
    head, data = _split(content)
    numbers = np.frombuffer(data[: len(data) // 8 * 8], "<f8").copy()
    if numbers.size:
        numbers[where % numbers.size] = (np.nan, np.inf, -np.inf, -1.0)[what % 4]
    return _joined(head, numbers.tobytes())


def _swap(content: bytes, _: int, __: int) -> bytes:
    head, data = _split(content)
    return _joined(
        head, np.frombuffer(data[: len(data) // 8 * 8], ">f8").astype("<f8").tobytes()
    )


def _resize(content: bytes, where: int, what: int) -> bytes:
    size = (*_SIZES, len(_split(content)[0]) + where % 17 - 8)
    return max(0, size[what % len(size)]).to_bytes(8, "little") + content[8:]


def _edit_head(edit: Edit) -> Spoil:
    """Change the JSON of the head; what is no JSON any more stays as it is."""

    def spoil(content: bytes, where: int, what: int) -> bytes:
        head, data = _split(content)
        try:
            parsed: Json = json.loads(head)
        except (ValueError, RecursionError):
            return content
        return _joined(edit(parsed, where, _RAW[what % len(_RAW)]).encode(), data)

    return spoil


def _edit_document(edit: Edit) -> Spoil:
    """The same for the JSON within the JSON."""

    def edit_text(head: Json, where: int, raw: str) -> str:
        metadata = head.get("__metadata__") if isinstance(head, dict) else None
        text = metadata.get(_KEY) if isinstance(metadata, dict) else None
        if isinstance(metadata, dict) and isinstance(text, str):
            with suppress(ValueError, RecursionError):
                metadata[_KEY] = edit(json.loads(text), where, raw)
        return json.dumps(head)

    return _edit_head(edit_text)


class _Spot(NamedTuple):
    """A place in an object or a list."""

    put: Callable[[Json], object]
    drop: Callable[[], object]


def _spots(value: Json) -> Iterator[_Spot]:
    """Every one of them, outer before inner."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield _Spot(partial(value.__setitem__, key), partial(value.pop, key))
            yield from _spots(inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield _Spot(partial(value.__setitem__, index), partial(value.pop, index))
            yield from _spots(inner)


def _objects(value: Json) -> "Iterator[dict[str, Json]]":
    """Every object with something in it."""
    if isinstance(value, dict) and value:
        yield value
        for inner in value.values():
            yield from _objects(inner)


def _put(value: Json, where: int, raw: str) -> str:
    """Another value in one place."""
    spots = list(_spots(value))
    if not spots:
        return raw
    spots[where % len(spots)].put(_MARK)
    return json.dumps(value).replace(f'"{_MARK}"', raw, 1)


def _drop(value: Json, where: int, _: str) -> str:
    """One thing less."""
    if spots := list(_spots(value)):
        spots[where % len(spots)].drop()
    return json.dumps(value)


def _rename(value: Json, where: int, raw: str) -> str:
    """One key that is another, or its neighbour's too."""
    objects = list(_objects(value))
    if not objects:
        return json.dumps(value)
    chosen = objects[where % len(objects)]
    keys = list(chosen)
    chosen[_MARK] = chosen.pop(keys[where % len(keys)])
    name = keys[-1] if len(raw) % 2 else raw
    return json.dumps(value).replace(f'"{_MARK}"', json.dumps(name), 1)


def _more(value: Json, where: int, raw: str) -> str:
    """One key more."""
    if objects := list(_objects(value)):
        objects[where % len(objects)]["more"] = _MARK
    return json.dumps(value).replace(f'"{_MARK}"', raw, 1)


DAMAGES: Final[Mapping[str, Spoil]] = {
    "nothing": lambda content, _, __: content,
    "cut short": lambda content, where, _: content[: where % (len(content) + 1)],
    "continued": lambda content, where, what: (
        content + bytes([what % 256]) * (where % 99)
    ),
    "bit of the head": _flip_head,
    "bit of the data": _flip_data,
    "noise": _noise,
    "not finite": _nan,
    "other byte order": _swap,
    "length of the head": _resize,
    "value in the head": _edit_head(_put),
    "lack in the head": _edit_head(_drop),
    "name in the head": _edit_head(_rename),
    "more in the head": _edit_head(_more),
    "value in the document": _edit_document(_put),
    "lack in the document": _edit_document(_drop),
    "name in the document": _edit_document(_rename),
    "more in the document": _edit_document(_more),
    "other head": lambda content, _, what: _joined(
        _RAW[what % len(_RAW)].encode(), _split(content)[1]
    ),
}

DAMAGED: Final = st.builds(
    Damage,
    st.sampled_from(sorted(DAMAGES)),
    st.integers(0, 2**16),
    st.integers(0, 255),
)
