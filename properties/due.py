"""What each call must be answered: a refusal or failure, or anything but that."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from engine import DecoderConfig, StageFailed
from engine.arrays import Array
from engine.stages import Stage
from properties.calls import Decode, Generate, Prefill, Train
from properties.choices import DueGeneration, due_generation
from properties.model import Model
from properties.oracle import Oracle
from properties.rehearsal import Planned
from properties.subject import Answer, Subject
from reference.session import check_training

_HUGE: Final = 1e30
_UNFORESEEN: Final = (Stage.LOSS, Stage.GRADIENT)

OracleOf: TypeAlias = Callable[[DecoderConfig, Mapping[str, Array]], Oracle]


class Due(NamedTuple):
    """What has to come: this error if there is one, this generation if one is asked."""

    error: Exception | None = None
    generation: DueGeneration | None = None


class Expectation:
    """Knows what is due, and lets the model follow."""

    def __init__(self, model: Model, subject: Subject, oracle_of: OracleOf) -> None:
        self._model = model
        self._subject = subject
        self._oracle_of = oracle_of

    def of(self, planned: Planned, came: Answer | Exception, oracle: Oracle) -> Due:
        """What is due now.

        Args:
            planned: the call that was made
            came: its answer, for what is no law: gradients, and a guess of tokens
            oracle: of the cache in focus
        """
        try:
            match planned.call:
                case Prefill() | Decode():
                    self._extend(planned, oracle)
                case Generate():
                    return Due(generation=self._chosen(planned.call, came))
                case Train():
                    self._train(planned.call, came)
                case _:
                    self._model.perform(planned.call)
        except Exception as error:  # noqa: BLE001 # the model raises what the engine must
            return Due(error=error)
        return Due()

    def _extend(self, planned: Planned, oracle: Oracle) -> None:
        """The rules first, then the arithmetic: what cannot be computed is not held."""
        kept = self._model.caches[planned.cache]
        content = kept.content
        self._model.perform(planned.call)
        try:
            oracle.replay(kept.content.history, planned.ahead)
        except StageFailed:
            kept.content = content
            raise

    def _chosen(self, call: Generate, came: Answer | Exception) -> DueGeneration:
        self._model.perform(call)
        config = self._model.decoders[call.decoder].config
        guess = tuple(map(int, call.prompt))
        if isinstance(came, Answer) and came.generation is not None:
            guess += came.generation.generated[:-1]
        return due_generation(self._oracle_for(call), config, call, guess)

    def _train(self, call: Train, came: Answer | Exception) -> None:
        config = self._model.decoders[call.decoder].config
        check_training(config, call.tokens, call.targets)
        tokens = tuple(map(int, call.tokens))
        replayed = self._oracle_for(call).replay_whole(tokens)
        # What a loss of huge logits or its gradient may be needs a differentiation, and
        # the only one there is is the engine's: there both verdicts are right.
        is_huge = np.abs(replayed.logits).max() > _HUGE
        if is_huge and isinstance(came, StageFailed) and came.stage in _UNFORESEEN:
            raise came
        self._model.perform(call, self._subject.gradients())

    def _oracle_for(self, call: Generate | Train) -> Oracle:
        config = self._model.decoders[call.decoder].config
        return self._oracle_of(config, self._model.weights(call.decoder))
