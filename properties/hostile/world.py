"""``World``: what a hostile call may reach, and may not change when it is refused."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Final, NamedTuple, SupportsIndex

import numpy as np

from engine import (
    AdamWConfig,
    EngineError,
    Generation,
    GenerationRequest,
    StepOutput,
    generate,
    loss_and_gradients,
)
from engine.arrays import Array
from properties.built_in import BuiltIn
from properties.chapter import CONFIG as OF_THE_CHAPTER, DECODED, PROMPT
from properties.drawn import initial_weights
from properties.inconsistency import require_alike
from properties.script import Weights
from properties.subject import Observation

CONFIG: Final = replace(OF_THE_CHAPTER, n_layers=1)
ADAMW: Final = AdamWConfig(
    learning_rate=0.01, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.1
)
SAVED: Final = "saved"
WEIGHTS: Final = initial_weights(CONFIG, Weights(seed=38))


class Phase(StrEnum):
    """What came before a call."""

    NEW = "new"
    PREFILLED = "prefilled"
    CLOSED = "closed"


class Everything(NamedTuple):
    """All that a refused call leaves as it was; compares bit for bit."""

    observed: Observation
    storage: Sequence[tuple[int, int]]
    returned: tuple[bytes, ...]
    folder: tuple[tuple[str, bytes], ...]


class Answered(NamedTuple):
    """What sound calls at the end give."""

    output: tuple[bytes, int, int, int]
    n_steps: int
    values: tuple[bytes, ...]


class World:
    """The built-in engine, with one decoder, cache, optimizer and generator.

    Args:
        folder: where files are saved, and an older one is
        phase: what has come before

    Attributes:
        was_changed: whether a call that was made from inside another one succeeded
    """

    def __init__(self, folder: Path, phase: Phase) -> None:
        self.subject = BuiltIn(CONFIG, WEIGHTS, ADAMW)
        self.decoder = self.subject.decoders[0]
        self.cache = self.subject.caches[0]
        self.session = self.subject.sessions[0][0]
        self.optimizer = self.subject.optimizer
        self.rng = self.subject.rng
        self.phase = phase
        self.was_changed = False
        self._folder = folder
        (folder / SAVED).write_bytes(b"an older file")
        self._returned = list[StepOutput]()
        if phase != Phase.NEW:
            self._returned.append(self.session.prefill(PROMPT))
        if phase == Phase.CLOSED:
            self.session.close()

    @cached_property
    def ones(self) -> list[Array]:
        """A gradient of ones for every parameter."""
        return [np.ones(each.value.shape) for each in self.decoder.parameters]

    def call_back(self) -> None:
        """Make calls from inside another one: all but a loss, which takes long."""
        session, parameters = self.session, self.decoder.parameters
        for call in (
            session.reset,
            lambda: session.decode(1),
            lambda: session.prefill((0,)),
            lambda: self.optimizer.step(parameters, self.ones),
        ):
            with suppress(EngineError):
                call()
                self.was_changed = True
        with suppress(EngineError):
            session.close()

    def generate(
        self, prompt: Iterable[SupportsIndex], request: GenerationRequest
    ) -> Generation:
        """With the generator that is at hand."""
        return generate(self.decoder, prompt, request, self.rng)

    def loss(
        self, tokens: Iterable[SupportsIndex], targets: Iterable[SupportsIndex]
    ) -> object:
        """With its gradients."""
        return loss_and_gradients(self.decoder, tokens, targets)

    def everything(self) -> Everything:
        """As it is now."""
        files = sorted(self._folder.iterdir())
        return Everything(
            observed=self.subject.observe(),
            storage=self.subject.storage(0),
            returned=tuple(output.logits.tobytes() for output in self._returned),
            folder=tuple((path.name, path.read_bytes()) for path in files),
        )

    def require_sound(self) -> None:
        """The session decodes as ever, and a step after it is closed succeeds.

        Raises:
            Inconsistent: something has come that does not come otherwise.
        """
        require_alike("sound calls", _due(self._folder), self._answered())

    def _answered(self) -> Answered:
        if self.phase == Phase.NEW:
            self.session.prefill(PROMPT)
        if self.phase == Phase.CLOSED:
            self.session = self.cache.bind(self.decoder)
        output = self.session.decode(DECODED)
        self.session.close()
        parameters = self.decoder.parameters
        n_steps = self.optimizer.step(parameters, self.ones)
        scores = output.attention_scores
        return Answered(
            (output.logits.tobytes(), output.position, output.length, scores),
            n_steps,
            tuple(parameter.value.tobytes() for parameter in parameters),
        )


@cache
def _due(folder: Path) -> Answered:
    return World(folder, Phase.PREFILLED)._answered()  # noqa: SLF001 # one class, two objects
