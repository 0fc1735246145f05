"""``Prefilled``: a right engine's cache, its next decodes, and what is due of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np

from engine import Decoder, KVCache, LayerRows
from engine.arrays import Array
from properties.allowed import Allowed
from properties.continuation import Copies
from properties.replayed import Replayed, Standard
from reference.replay import Reals

N_STEPS: Final = 5
"""Decodes after the prompt; the rules of others look at so many."""


class Model(NamedTuple):
    """A decoder, and a prompt for it.

    Attributes:
        name: of its geometry, or of what its weights are from
        decoder: with room for the prompt and all steps
        prompt: tokens
    """

    name: str
    decoder: Decoder
    prompt: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Prefilled:
    """A prompt that was prefilled, and decoded further as the engine chooses.

    Attributes:
        model: what was run
        rows: keys and values of every block after the prompt
        chosen: the tokens of the steps, greedily chosen
        logits: of the steps, (N_STEPS, vocab_size)
        replay: the same by replay
        standards: what is due, and by how much it may be missed: by two bounds from the
            replay (P1 and P2), and by one from a replay in a wider dtype (P7)
    """

    model: Model
    rows: tuple[LayerRows, ...]
    chosen: tuple[int, ...]
    logits: Array
    replay: Reals
    standards: tuple[Standard, ...]

    @classmethod
    def of(cls, model: Model) -> Self:
        """Prefill, decode and replay."""
        decoder, prompt = model.decoder, model.prompt
        cache, steps, chosen = KVCache(decoder), list[Array](), list[int]()
        with cache.bind(decoder) as session:
            output = session.prefill(prompt)
            rows = cache.layers
            for _ in range(N_STEPS):
                chosen.append(int(output.logits.argmax()))
                output = session.decode(chosen[-1])
                steps.append(output.logits)
        tokens = (*prompt, *chosen)
        replayed = Replayed.of(decoder.config, decoder.weights, tokens)
        standards = replayed.due, replayed.truth
        return cls(
            model=model,
            rows=rows,
            chosen=tuple(chosen),
            logits=np.stack(steps),
            replay=replayed.replay.logits[len(prompt) :],
            standards=tuple(each for each in standards if each is not None),
        )

    @property
    def blocks(self) -> list[Copies]:
        """The rows of every block as one copy."""
        return [Copies(each.keys[None], each.values[None]) for each in self.rows]

    def misses_logits(self, logits: Array) -> bool:
        """Whether those of the first step are too far from what is due."""
        length = len(self.model.prompt) + 1
        return any(each.logits(length).share(logits) > 1 for each in self.standards)

    def misses_rows(self) -> bool:
        """Whether any of the engine's own are too far from what is due."""
        held = [(each.keys, each.values) for each in self.rows]
        length = len(self.model.prompt)
        found = [each.missed_row("", held, length) for each in self.standards]
        return any(found)

    def allowed(self) -> Iterator[tuple[tuple[Allowed, ...], tuple[Allowed, ...]]]:
        """What every standard allows for keys and for values, block by block."""
        length = len(self.model.prompt)
        for pairs in zip(*(each.rows(length) for each in self.standards), strict=True):
            keys, values = zip(*pairs, strict=True)
            yield keys, values
