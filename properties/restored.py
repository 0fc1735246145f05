"""Generation from the restored file that ships beside this module."""

from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from typing import Final

from engine import (
    Decoder,
    Generation,
    GenerationRequest,
    SplitMix64,
    TopK,
    generate,
    load,
)
from reference import generate_by_replay

PROMPT: Final = (0,)
PIECES: Final = ("0", "1", "2", "3", "4")  # the tokenizer's, one a token ID
REQUEST: Final = GenerationRequest(
    mode=TopK(temperature=1.0, k=3), eos_token=None, max_new_tokens=4
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A generation from the restored file, cached and by replay."""

    cached: Generation
    replayed: Generation
    rng_matches: bool

    @property
    def tokens_match(self) -> bool:
        """Whether both chose the same tokens by the same draws."""
        return _choices(self.cached) == _choices(self.replayed)

    @property
    def text(self) -> str:
        """The generated tokens as text."""
        return "".join(PIECES[token_id] for token_id in self.cached.generated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What the file holds, and two runs from it: to the capacity, and to an EOS."""

    file_bytes: int
    capacity: int
    rng_state: int
    context_run: Run
    eos_run: Run


def run_restored() -> Restored:
    """Load the file and generate; the second run has the first one's token as EOS."""
    with as_file(files("properties") / "restored.safetensors") as path:
        file_bytes, loaded = path.stat().st_size, load(path)
    assert loaded.rng is not None
    state = loaded.rng.state
    context_run = _run(loaded.decoder, REQUEST, state)
    eos = replace(REQUEST, eos_token=context_run.cached.generated[0])
    return Restored(
        file_bytes=file_bytes,
        capacity=loaded.decoder.config.capacity,
        rng_state=state,
        context_run=context_run,
        eos_run=_run(loaded.decoder, eos, state),
    )


def _run(decoder: Decoder, request: GenerationRequest, state: int) -> Run:
    rng, replay_rng = SplitMix64(state), SplitMix64(state)
    cached = generate(decoder, PROMPT, request, rng)
    weights = decoder.weights
    replayed = generate_by_replay(decoder.config, weights, PROMPT, request, replay_rng)
    matches = rng.state == replay_rng.state
    return Run(cached=cached, replayed=replayed, rng_matches=matches)


def _choices(generation: Generation) -> list[tuple[int, float | None]]:
    return [(step.token_id, step.unit_draw) for step in generation.steps]
