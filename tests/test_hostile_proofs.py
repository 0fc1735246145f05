"""The hunts for hostile input can fail: each of these engines is rejected."""

import resource
from collections.abc import Callable, Iterable, Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Final, SupportsIndex, TypeAlias

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import Phase as Part, settings

import engine.checkpoint
import engine.session
import engine.tokens
from engine import DecoderSession, DecodeTokenOutOfRange, StepOutput, Work
from engine.arrays import Array
from engine.files import read_file
from engine.kinds import require_kind
from engine.occupants import Occupants
from engine.prefix import State
from engine.serialization import _Reader
from engine.tokens import exact_token
from properties.hostile.calls import PLACES
from properties.hostile.damage import Damage
from properties.hostile.files import judged, saved
from properties.hostile.judging import Census, Hostile, hunt, withstand
from properties.hostile.limit import little_memory
from properties.inconsistency import Inconsistent
from properties.plugin import PROFILES

Break: TypeAlias = Callable[[pytest.MonkeyPatch], None]

AT: Final = {str(place): place for place in PLACES}


def clamps_a_negative_token(patch: pytest.MonkeyPatch) -> None:
    def clamped(value: SupportsIndex) -> int:
        return max(0, exact_token(value))

    patch.setattr(engine.session, "exact_token", clamped)


def lets_an_index_error_out(patch: pytest.MonkeyPatch) -> None:
    def looked_up(tokens: Sequence[SupportsIndex], n: int) -> tuple[int, ...]:
        return tuple([range(n)[token] for token in tokens])

    patch.setattr(engine.session, "exact_prompt", looked_up)


def reads_a_prompt_to_its_end(patch: pytest.MonkeyPatch) -> None:
    def all_of(given: Iterable[object], most: int) -> tuple[object, ...]:
        del most
        return tuple(given)

    patch.setattr(engine.tokens, "first_of", all_of)


def writes_before_it_checks(patch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession._prefill

    def prefill(session: DecoderSession, prompt: Iterable[SupportsIndex]) -> StepOutput:
        session._prefix.state = State(0, Work(prefill_tokens=1))
        return honest(session, prompt)

    patch.setattr(DecoderSession, "_prefill", prefill)


def lets_a_second_call_in(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Occupants, "refuse_company", lambda _: None)


def nudges_after_a_refusal(patch: pytest.MonkeyPatch) -> None:
    honest, refused = DecoderSession.decode, set[int]()

    def decode(session: DecoderSession, token_id: SupportsIndex) -> StepOutput:
        try:
            output = honest(session, token_id)
        except BaseException:
            refused.add(id(session))
            raise
        if id(session) not in refused:
            return output
        return replace(output, logits=output.logits * (1 + 2.0**-52))

    patch.setattr(DecoderSession, "decode", decode)


def swallows_what_a_token_raises(patch: pytest.MonkeyPatch) -> None:
    def swallowed(value: SupportsIndex) -> int:
        try:
            return exact_token(value)
        except Exception as error:
            raise TypeError from error

    patch.setattr(engine.session, "exact_token", swallowed)


def says_a_megabyte(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DecodeTokenOutOfRange, "__str__", lambda _: "no" * 2**19)


def cannot_be_pickled(patch: pytest.MonkeyPatch) -> None:
    def refuse(error: DecodeTokenOutOfRange, _: SupportsIndex) -> tuple[object, ...]:
        return list, (error, error)

    patch.setattr(DecodeTokenOutOfRange, "__reduce_ex__", refuse)


def truncates_before_it_checks(patch: pytest.MonkeyPatch) -> None:
    def truncating(value: object, *kinds: type[object]) -> None:
        Path("saved").write_bytes(b"")
        require_kind(value, *kinds)

    patch.setattr(engine.checkpoint, "require_kind", truncating)


BROKEN: Final[dict[str, tuple[Break, str, Hostile]]] = {
    "clamps": (clamps_a_negative_token, "decode: token", Hostile("integer", -1)),
    "index error": (lets_an_index_error_out, "prefill: token", Hostile("integer", 9)),
    "endless": (reads_a_prompt_to_its_end, "prefill: prompt", Hostile("repeat", 0)),
    "writes": (writes_before_it_checks, "prefill: prompt", Hostile("None", 0)),
    "enters": (
        lets_a_second_call_in,
        "decode: token",
        Hostile("index that calls back", 0),
    ),
    "nudges": (nudges_after_a_refusal, "decode: token", Hostile("None", 0)),
    "swallows": (
        swallows_what_a_token_raises,
        "decode: token",
        Hostile("index that raises", 0),
    ),
    "megabyte": (says_a_megabyte, "decode: token", Hostile("integer", 9)),
    "pickle": (cannot_be_pickled, "decode: token", Hostile("integer", 9)),
    "truncates": (
        truncates_before_it_checks,
        "save: optimizer",
        Hostile("integer", 0),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_judge_rejects(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks, place, hostile = BROKEN[case]
    with chdir(tmp_path):
        withstand(tmp_path, Census(), AT[place], [hostile])
        breaks(monkeypatch)

        with pytest.raises(Inconsistent):
            withstand(tmp_path, Census(), AT[place], [hostile])


def test_hunt_finds_the_smallest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clamps_a_negative_token(monkeypatch)
    length = settings(
        PROFILES["default"].hostile,
        database=None,
        derandomize=True,
        max_examples=1_000,
        phases=[Part.generate, Part.shrink],
    )

    with pytest.raises(Inconsistent, match=r"decode: token, .*\n  due .*OutOfRange"):
        hunt(tmp_path, Census(), length, AT["decode: token"])


def trusts_shapes(reader: _Reader, name: str, _: str | None) -> Array:
    tensor = reader.tensors.pop(name)
    array: Array = np.ndarray(tuple(tensor.shape), "<f8", tensor.data)
    return array.copy()


def test_reader_that_trusts_shapes_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = saved(tmp_path / "whole")
    tensors = safetensors.numpy.load(content)
    name = "token_embedding.weight"
    head = content[8 : 8 + int.from_bytes(content[:8], "little")].decode()
    shape = str(list(tensors[name].shape)).replace(" ", "")
    many = f"[{','.join('1' * 60)},{shape[1:]}"
    start = head.index(f'"{name}"')
    spoiled = (head[:start] + head[start:].replace(shape, many, 1)).encode()
    data = content[8 + len(head) :]
    damaged = len(spoiled).to_bytes(8, "little") + spoiled + data

    assert judged(tmp_path / "a", damaged, "more axes") == "rejected"

    spoiled = spoiled.replace(b"[1,", b"[1,1,1,1,1,", 1)
    damaged = len(spoiled).to_bytes(8, "little") + spoiled + data
    monkeypatch.setattr(_Reader, "_take", trusts_shapes)
    with pytest.raises(Inconsistent, match="ValueError"):
        judged(tmp_path / "a", damaged, "too many axes")


def test_reader_that_takes_too_much_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = saved(tmp_path / "whole")

    def generous(path: str) -> bytes:
        return bytes(len(bytearray(10**7)) - 10**7) + read_file(path)

    monkeypatch.setattr(engine.checkpoint, "read_file", generous)
    with pytest.raises(Inconsistent, match="bytes to read"):
        judged(tmp_path / "a", content, "whole")


def test_reader_that_lets_anything_out_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = saved(tmp_path / "whole")
    damaged = Damage("cut short", 5, 0).done(content)

    def careless(path: str, content: bytes) -> object:
        return path, content[:8][7]

    monkeypatch.setattr(engine.checkpoint, "deserialized", careless)
    with pytest.raises(Inconsistent, match="IndexError"):
        judged(tmp_path / "a", damaged, "cut short")


def test_reader_that_rounds_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = saved(tmp_path / "whole")
    honest = _Reader._take

    def rounded(reader: _Reader, name: str, dtype: str | None) -> Array:
        return honest(reader, name, dtype) * (1 + 2.0**-52)

    monkeypatch.setattr(_Reader, "_take", rounded)
    with pytest.raises(Inconsistent):
        judged(tmp_path / "a", content, "whole")


def test_hunt_ends_before_memory_does() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)

    with little_memory(), pytest.raises(MemoryError):
        np.ones(2**31)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
