"""``generate``: text from real weights, token by token, and what it cost."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Final

from rich.console import Console

from engine.decoder import Decoder
from engine.errors import EngineError, StageFailed
from engine.generation import generate
from engine.listener import Listener
from engine.options import parser
from engine.request import Generation, GenerationRequest, Greedy, Mode, TopK
from engine.source import Source, opened_source
from engine.splitmix import SplitMix64

OK, UNUSABLE, INTERRUPTED = 0, 2, 130

_MOST_LIKELY: Final = 40  # tokens to draw from, if not told


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    It is 2 if something was refused or failed, and 130 if it was interrupted.
    """
    options = parser().parse_args(arguments)
    try:
        _generate(options)
    except StageFailed as failure:  # such as a reader of the text that has gone
        sys.stderr.write(f"{failure}: {failure.__cause__}\n")
        return UNUSABLE
    except (EngineError, OSError, MemoryError) as error:
        sys.stderr.write(f"{error}\n")
        return UNUSABLE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    return OK


def _generate(options: argparse.Namespace) -> None:
    with Console(stderr=True).status("reading the weights") as progress:
        source = opened_source(options.weights, options.dtype)
        prompt, said = _voices(options, source)
        request = GenerationRequest(
            mode=_mode(options, source.decoder.config.vocab_size),
            eos_token=source.eos_token,
            max_new_tokens=options.max_new_tokens,
        )
        decoder = _with_room(options.capacity, source.decoder, prompt, request)

        def show_row(position: int) -> None:
            progress.update(f"reading the prompt, {position + 1} of {len(prompt)}")

        def show_token(token_id: int) -> None:
            progress.stop()  # the text is the progress from now on
            if token_id != request.eos_token:
                sys.stdout.write(said(token_id))
                sys.stdout.flush()

        listener = Listener(request.mode, options.seed, show_row, show_token)
        start = time.perf_counter()
        done = generate(decoder, prompt, request, SplitMix64(options.seed), listener)
    times = (start, listener.times[0], time.perf_counter())
    sys.stdout.write("\n")
    sys.stdout.flush()
    sys.stderr.write(_costs(done, *times))


def _voices(
    options: argparse.Namespace, source: Source
) -> tuple[Sequence[int], Callable[[int], str]]:
    """The prompt in tokens, and what to print for one more token."""
    token_ids: list[int] | None = options.tokens
    if token_ids is not None:
        separators = chain([""], repeat(","))
        return token_ids, lambda token_id: f"{next(separators)}{token_id}"
    tokenizer = source.tokenizer()
    return tokenizer.token_ids(options.text), tokenizer.text_of


def _mode(options: argparse.Namespace, vocab_size: int) -> Mode:
    temperature: float | None = options.temperature
    k: int | None = options.top_k
    if temperature is None and k is None:
        return Greedy()
    return TopK(
        temperature=1.0 if temperature is None else temperature,
        k=min(_MOST_LIKELY, vocab_size) if k is None else k,
    )


def _with_room(
    capacity: int | None,
    decoder: Decoder,
    prompt: Sequence[int],
    request: GenerationRequest,
) -> Decoder:
    """The same parameters, with as many positions as are needed or told."""
    config = decoder.config
    needed = min(config.capacity, len(prompt) + request.max_new_tokens)
    room = needed if capacity is None else capacity
    return Decoder(replace(config, capacity=room), decoder.parameters)


def _costs(done: Generation, start: float, first: float, end: float) -> str:
    work = done.work
    n_prefilled, n_decoded = work.prefill_tokens, work.decode_tokens
    counters = {
        "token_forwards": n_prefilled + n_decoded,
        "prefill_tokens": n_prefilled,
        "decode_tokens": n_decoded,
        "cache_appends": work.cache_appends,
        "qkv_projection_rows": work.qkv_projection_rows,
        "attention_scores": work.cached_attention_scores,
    }
    told = " ".join(f"{name}:{count}" for name, count in counters.items())
    return (
        f"prefill: {_rate(n_prefilled, first - start)}; decode: "
        f"{_rate(n_decoded, end - first)}; stopped by {done.stop}\n{told}\n"
    )


def _rate(n_tokens: int, seconds: float) -> str:
    return f"{n_tokens} tokens in {seconds:.2f} s, {n_tokens / seconds:.1f} a second"
