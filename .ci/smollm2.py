"""SmolLM2 on the engine: a round trip, and cached decode against replay."""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Final

from engine import (
    Decoder,
    GenerationRequest,
    Greedy,
    KVCache,
    SplitMix64,
    generate,
)
from engine.gguf_file import decoder_of, opened_gguf
from engine.llama import read_llama, write_llama
from engine.source import packaged_file
from engine.tokenizer import Tokenizer
from properties.replayed import Replayed
from reference import generate_by_replay

PROMPT: Final = "The capital of France is"
N_JUDGED: Final = 12  # tokens whose logits and rows are compared
N_NEW: Final = 40  # tokens that replay has to choose, too


def main() -> int:
    """Run all and return 1 if anything differs by more than it may."""
    start = time.perf_counter()
    file = opened_gguf(packaged_file())
    tokenizer = Tokenizer.of_metadata(file.path, file.metadata)
    prompt = tuple(tokenizer.token_ids(PROMPT))
    decoder = _with_room(decoder_of(file, None, None), len(prompt) + N_NEW)
    print(f"read in {time.perf_counter() - start:.1f} s: {decoder.config}")
    came = _greedy_is_replayed(decoder, prompt, tokenizer)
    same = _comes_back(decoder)
    text = [*prompt, *came][:N_JUDGED]
    wide = decoder_of(opened_gguf(packaged_file()), decoder.config.capacity, "float64")
    shares = [_share_of_bound(each, text) for each in (decoder, wide)]
    return 0 if came and same and max(shares) <= 1 else 1


def _with_room(decoder: Decoder, capacity: int) -> Decoder:
    return Decoder(replace(decoder.config, capacity=capacity), decoder.parameters)


def _greedy_is_replayed(
    decoder: Decoder, prompt: tuple[int, ...], tokenizer: Tokenizer
) -> tuple[int, ...]:
    """The tokens that cache and replay both choose; none if they do not agree."""
    request = GenerationRequest(mode=Greedy(), eos_token=None, max_new_tokens=N_NEW)
    start = time.perf_counter()
    came = generate(decoder, prompt, request, SplitMix64(0))
    middle = time.perf_counter()
    due = generate_by_replay(
        decoder.config, decoder.weights, prompt, request, SplitMix64(0)
    )
    end = time.perf_counter()
    text = "".join(map(tokenizer.text_of, came.generated))
    print(f"it says: {text!r}")
    print(
        f"{N_NEW} greedy tokens: {middle - start:.1f} s cached, {end - middle:.1f} s "
        f"replayed, {'equal' if came == due else 'DIFFERENT'}"
    )
    return came.generated if came == due else ()


def _comes_back(decoder: Decoder) -> bool:
    """Whether a Hugging Face directory gives back every bit."""
    start = time.perf_counter()
    with TemporaryDirectory() as folder:
        write_llama(folder, decoder)
        again = read_llama(folder)
    same = again.config == decoder.config and all(
        one.value.tobytes() == other.value.tobytes()
        for one, other in zip(again.parameters, decoder.parameters, strict=True)
    )
    seconds = time.perf_counter() - start
    print(f"directory: {seconds:.1f} s, {'every bit' if same else 'NOT every bit'}")
    return same


def _share_of_bound(decoder: Decoder, token_ids: Sequence[int]) -> float:
    """The largest miss of logits and rows, as a share of the bound."""
    start = time.perf_counter()
    cache = KVCache(decoder)
    with cache.bind(decoder) as session:
        logits = [session.prefill(token_ids[:1]).logits]
        logits += [session.decode(each).logits for each in token_ids[1:]]
    replayed = Replayed.of(decoder.config, decoder.weights, tuple(token_ids))
    worst = 0.0
    for name, standard in (("replay", replayed.due), ("truth", replayed.truth)):
        if standard is None:
            continue
        of_logits = max(
            standard.logits(length).share(each)
            for length, each in enumerate(logits, start=1)
        )
        of_rows = max(
            allowed.share(held)
            for pair, rows in zip(
                standard.rows(len(token_ids)), cache.layers, strict=True
            )
            for allowed, held in zip(pair, (rows.keys, rows.values), strict=True)
        )
        worst = max(worst, of_logits, of_rows)
        print(
            f"{decoder.config.dtype}, {len(token_ids)} tokens against {name}: logits "
            f"{of_logits:.2%} and rows {of_rows:.2%} of the bound"
        )
    print(f"  in {time.perf_counter() - start:.1f} s")
    return worst


if __name__ == "__main__":
    sys.exit(main())
