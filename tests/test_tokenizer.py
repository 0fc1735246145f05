"""Text becomes tokens and comes back, whole characters at a time."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import tokenizers

from engine import FileRejected
from engine.tokenizer import Tokenizer
from tests.ggufs import tokenizer_of

MERGES: Final = ("h e", "1 2", "Ġ he")
HE, TWELVE, SPACE_HE, CONTROL, USERS = range(256, 261)


def tokenizer(**told: object) -> Tokenizer:
    return Tokenizer.of_metadata("file", tokenizer_of(MERGES, told))


def test_text_is_merged_and_digits_stand_alone() -> None:
    told = tokenizer_of(MERGES)["tokenizer.ggml.tokens"]
    assert isinstance(told, list)
    one, two = told.index("1"), told.index("2")

    assert tokenizer().token_ids("he he12") == [HE, SPACE_HE, one, two]
    assert tokenizer(pre="gpt-2").token_ids("he12") == [HE, TWELVE]


@pytest.mark.parametrize("text", ["he 12\n", "naïve café", "日本語 🙂", " <u> ", ""])
def test_text_comes_back(text: str) -> None:
    made = tokenizer()

    assert "".join(map(made.text_of, made.token_ids(text))) == text


def test_character_is_kept_back_until_it_is_whole() -> None:
    made = tokenizer()
    token_ids = made.token_ids("é!")

    assert [made.text_of(each) for each in token_ids] == ["", "é", "!"]


def test_bytes_that_are_no_character_are_shown_once_more_has_come() -> None:
    made = tokenizer()
    first, _, last = made.token_ids("é!")

    assert [made.text_of(each) for each in (first, last)] == ["", "\ufffd!"]


def test_tokens_of_the_file_are_whole_words_and_control_is_not_shown() -> None:
    made = tokenizer()
    token_ids = made.token_ids("he<s><u>")

    assert token_ids == [HE, CONTROL, USERS]
    assert [made.text_of(each) for each in token_ids] == ["he", "", "<u>"]


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("model", "llama", "is 'llama', must be 'gpt2'"),
        ("model", None, "is None, must be 'gpt2'"),
        ("pre", "llama-bpe", "must be one of ['gpt-2', 'smollm']"),
        ("tokens", None, "is no list"),
        ("merges", 3, "is no list"),
        ("token_type", "normal", "is no list"),
        ("add_bos_token", True, "is True, must be False"),
    ],
)
def test_tokenizer_of_another_kind_is_refused(
    part: str, value: object, reason: str
) -> None:
    with pytest.raises(FileRejected) as refusal:
        tokenizer(**{part: value})

    assert refusal.value.part == f"tokenizer.ggml.{part}"
    assert reason in refusal.value.reason


@pytest.mark.parametrize("merges", [["h z z"], ["h"], [7]])
def test_merges_that_are_none_are_refused(merges: list[object]) -> None:
    with pytest.raises(FileRejected) as refusal:
        tokenizer(merges=merges)

    assert refusal.value.part == "tokenizer.ggml"


def test_directory_has_a_file_of_its_own(tmp_path: Path) -> None:
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={"a": 0, "b": 1, "ab": 2}, merges=[("a", "b")])
    )
    made.save(str(tmp_path / "tokenizer.json"))

    assert Tokenizer.of_folder(str(tmp_path)).token_ids("aabb") == [0, 2, 1]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff"])
def test_file_that_is_none_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(FileRejected) as refusal:
        Tokenizer.of_folder(str(tmp_path))

    assert refusal.value.part == "tokenizer"


def test_directory_without_a_tokenizer_has_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Tokenizer.of_folder(str(tmp_path))


@pytest.mark.parametrize("make", [tokenizer, lambda: Tokenizer.of_folder("folder")])
def test_package_that_is_missing_is_named(
    make: Callable[[], Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(FileRejected, match="pip install 'cachehound") as refusal:
        make()

    assert refusal.value.part == "tokenizers"
