"""A small model for ``generate``, and what it says."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from engine import (
    Decoder,
    Generation,
    GenerationRequest,
    SplitMix64,
    generate,
)
from engine.command import main
from engine.request import Mode
from engine.tokenizer import Tokenizer
from tests.ggufs import metadata_of, tensors_of, tokenizer_of, write_gguf
from tests.llamas import varied
from tests.models import GROUPED

WORDED: Final = replace(GROUPED, vocab_size=259, capacity=40)
N_NEW: Final = 8
TEXT: Final = "hi"
MERGES: Final = ("a b",)
EOS: Final = 257


def write_model(path: Path, decoder: Decoder, **told: object) -> None:
    metadata = metadata_of(decoder) | tokenizer_of(MERGES, told)
    write_gguf(path, metadata, tensors_of(decoder))


def expected(mode: Mode, seed: int = 0) -> Generation:
    """What ``TEXT`` gives."""
    request = GenerationRequest(mode=mode, eos_token=EOS, max_new_tokens=N_NEW)
    prompt = tokenizer().token_ids(TEXT)
    return generate(varied(WORDED), prompt, request, SplitMix64(seed))


def tokenizer() -> Tokenizer:
    return Tokenizer.of_metadata("file", tokenizer_of(MERGES))


def run(*arguments: object) -> int:
    return main(["generate", "--weights", *map(str, arguments)])


def shown(done: Generation) -> str:
    made = tokenizer()
    return "".join(map(made.text_of, done.generated)) + "\n"
