"""Text to tokens and back, through the package ``tokenizers``.

A GGUF file has the parts of its tokenizer in its metadata, a directory all of it in
``tokenizer.json``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from engine.container import reject
from engine.extras import extra
from engine.files import read_file

if TYPE_CHECKING:
    from types import ModuleType

    from tokenizers import Tokenizer as Foreign

_KEY: Final = "tokenizer.ggml"  # of all that GGUF tells of a tokenizer
_CONTROL, _USER_DEFINED = 3, 4  # token types
_INCOMPLETE: Final = "\N{REPLACEMENT CHARACTER}"


class Tokenizer:
    """Text to tokens, and tokens to text as they come."""

    def __init__(self, foreign: "Foreign") -> None:
        self._foreign = foreign
        self._said: list[int] = []
        self._shown = ""

    @classmethod
    def of_metadata(cls, path: str, metadata: Mapping[str, object]) -> Self:
        """The byte-level BPE in the metadata of a GGUF file.

        Raises:
            FileRejected: it is of another kind, or not whole; or there is no package
                ``tokenizers``.
        """
        package = extra(path, "tokenizers")
        kind = metadata.get(f"{_KEY}.model")
        if kind != "gpt2":
            reject(path, f"{_KEY}.model", f"is {kind!r}, must be 'gpt2'")
        return cls(_byte_level(path, metadata, package))

    @classmethod
    def of_folder(cls, folder: str) -> Self:
        """The tokenizer of a Hugging Face directory.

        Raises:
            FileRejected: ``tokenizer.json`` is none, or there is no package
                ``tokenizers``.
            OSError: it cannot be read.
        """
        path = str(Path(folder, "tokenizer.json"))
        package = extra(path, "tokenizers")
        content = read_file(path)
        try:
            return cls(package.Tokenizer.from_str(content.decode()))
        except Exception as error:  # noqa: BLE001 # the package raises nothing narrower
            reject(path, "tokenizer", str(error), error)

    def token_ids(self, text: str) -> Sequence[int]:
        """The tokens of a text."""
        token_ids: Sequence[int] = self._foreign.encode(text).ids
        return token_ids

    def text_of(self, token_id: int) -> str:
        """What one more token adds to the text; the bytes of a character may be many.

        What is not valid at the end is kept back: the next token may complete it.
        """
        self._said.append(token_id)
        text: str = self._foreign.decode(self._said)
        if text.endswith(_INCOMPLETE):
            return ""
        added = text[len(self._shown) :]
        self._shown = text
        return added


def _byte_level(
    path: str, metadata: Mapping[str, object], package: "ModuleType"
) -> "Foreign":
    before = package.pre_tokenizers
    bytewise = before.ByteLevel(add_prefix_space=False)
    splitters = {
        "gpt-2": bytewise,
        "smollm": before.Sequence([before.Digits(individual_digits=True), bytewise]),
    }
    pre = metadata.get(f"{_KEY}.pre")
    if pre not in splitters:
        reject(path, f"{_KEY}.pre", f"is {pre!r}, must be one of {sorted(splitters)}")
    tokens, merges, kinds = (
        _listed(path, f"{_KEY}.{part}", metadata)
        for part in ("tokens", "merges", "token_type")
    )
    vocabulary = {token: token_id for token_id, token in enumerate(tokens)}
    pairs = [tuple(str(merge).split(" ", 1)) for merge in merges]
    made: Foreign
    try:
        made = package.Tokenizer(package.models.BPE(vocab=vocabulary, merges=pairs))
    except Exception as error:  # noqa: BLE001 # the package raises nothing narrower
        reject(path, _KEY, str(error), error)
    made.pre_tokenizer = splitters[pre]
    made.decoder = package.decoders.ByteLevel()
    of_kind = list(zip(tokens, kinds, strict=False))
    made.add_special_tokens([each for each, kind in of_kind if kind == _CONTROL])
    made.add_tokens([each for each, kind in of_kind if kind == _USER_DEFINED])
    if metadata.get(f"{_KEY}.add_bos_token"):
        reject(path, f"{_KEY}.add_bos_token", "is True, must be False")
    return made


def _listed(path: str, key: str, metadata: Mapping[str, object]) -> list[object]:
    listed = metadata.get(key)
    if not isinstance(listed, list):
        reject(path, key, "is no list")
    return listed
