"""What each call must be answered: a refusal or failure, or anything but that."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from engine import DecoderConfig, StageFailed
from engine.arrays import Array
from engine.stages import Stage
from properties.calls import Decode, Generate, Prefill, Train
from properties.choices import DueGeneration, chosen_by, due_generation
from properties.injector import Injector, as_raised
from properties.model import Model
from properties.moment import NOTHING
from properties.oracle import Oracle
from properties.points import Point
from properties.reading import FaultComes, Reading
from properties.rehearsal import Planned
from properties.script import Fault
from properties.settling import settled
from properties.subject import Answer, Subject
from reference.session import check_training

_HUGE: Final = 0.1  # this power of the largest float
_UNFORESEEN: Final = (Stage.LOSS, Stage.GRADIENT)

OracleOf: TypeAlias = Callable[[DecoderConfig, Mapping[str, Array]], Oracle]


class Due(NamedTuple):
    """What has to come.

    Attributes:
        error: this one, if there is one
        generation: this one, if one is asked for
        struck: the point at which a planned fault ends the call, if it does
    """

    error: BaseException | None = None
    generation: DueGeneration | None = None
    struck: Point | None = None


class Expectation:
    """Knows what is due, and lets the model follow."""

    def __init__(
        self, model: Model, subject: Subject, injector: Injector, oracle_of: OracleOf
    ) -> None:
        self._model = model
        self._subject = subject
        self._injector = injector
        self._oracle_of = oracle_of

    def of(self, planned: Planned, came: Answer | BaseException, oracle: Oracle) -> Due:
        """What is due now.

        Args:
            planned: the call that was made
            came: its answer, for what is no law: gradients, a guess of tokens, and
                what becomes of numbers at the edge of overflow
            oracle: of the cache in focus
        """
        try:
            match planned.call:
                case Prefill() | Decode():
                    self._extend(planned, came, oracle)
                case Generate():
                    return self._generate(planned, planned.call, came)
                case Train():
                    self._train(planned.call, came)
                case _:
                    self._model.perform(planned.call)
        except FaultComes as struck:
            return _due_at(planned, struck.point)
        except Exception as error:  # noqa: BLE001 # the model raises what the engine must
            return Due(error=error)
        return Due()

    def _extend(
        self, planned: Planned, came: Answer | BaseException, oracle: Oracle
    ) -> None:
        """The rules first, then the arithmetic: what cannot be computed is not held."""
        kept = self._model.caches[planned.cache]
        content = kept.content
        self._model.perform(planned.call)
        history, start = kept.content.history, content.length

        def read() -> None:
            reading = Reading(oracle, kept.config, start, planned.fault)
            reading.read(history, planned.ahead)

        try:
            settled(
                came,
                read,
                lambda failure: oracle.can_fail(history, start, failure),
                lambda: oracle.can_pass(history),
            )
        except (StageFailed, FaultComes):
            kept.content = content
            raise

    def _generate(
        self, planned: Planned, call: Generate, came: Answer | BaseException
    ) -> Due:
        """Where rounding may have ended it otherwise, a fault strikes if it did."""
        self._model.perform(call)
        config = self._model.decoders[call.decoder].config
        guess = tuple(map(int, call.prompt))
        if isinstance(came, Answer) and came.generation is not None:
            guess += came.generation.generated[:-1]
        oracle = self._oracle_for(call)
        read_last = guess

        def made(call: Generate, fault: Fault | None) -> DueGeneration:
            nonlocal read_last
            reading = Reading(oracle, config, 0, fault)
            try:
                return due_generation(reading.read, config, call, guess)
            finally:
                read_last = reading.history

        try:
            generation = settled(
                came,
                lambda: made(call, planned.fault),
                lambda failure: oracle.can_fail(read_last, 0, failure),
                lambda: oracle.can_pass(guess),
            )
        except FaultComes as fault:
            begun = call.model_copy(update={"max_new_tokens": fault.n_read})
            if made(begun, None).is_sure:
                return _due_at(planned, fault.point)
            generation = made(call, None)
        if not generation.is_sure and self._injector.struck is not None:
            return _due_at(planned, self._injector.struck)
        if not generation.is_sure:
            own = self._chosen_by_own(call, config, oracle)
            generation = replace(generation, by_own_logits=own)
        return Due(generation=generation)

    def _chosen_by_own(
        self, call: Generate, config: DecoderConfig, oracle: Oracle
    ) -> DueGeneration | None:
        """What the engine's own logits choose, where rounding decides which they are.

        They are those of a fresh engine that reads the same tokens by itself.
        """
        prompt = tuple(map(int, call.prompt))

        def own(history: tuple[int, ...]) -> Array | None:
            bits = oracle.lone(history, len(prompt), NOTHING).logits[-1]
            size = np.dtype(config.float_type).itemsize * config.vocab_size
            return np.frombuffer(bits, config.dtype) if len(bits) == size else None

        replayed = oracle.replay(prompt, prompt).replay
        return chosen_by(own, replayed, config, call)

    def _train(self, call: Train, came: Answer | BaseException) -> None:
        config = self._model.decoders[call.decoder].config
        check_training(config, call.tokens, call.targets)
        tokens = tuple(map(int, call.tokens))
        oracle = self._oracle_for(call)
        replayed = settled(
            came,
            lambda: oracle.replay_whole(tokens),
            lambda failure: oracle.can_fail_whole(tokens, failure),
            lambda: oracle.can_pass(tokens),
        )
        # What a loss or a gradient of huge numbers may be needs a differentiation, and
        # the only one there is is the engine's: there both verdicts are right.
        huge = float(np.finfo(config.float_type).max) ** _HUGE
        with np.errstate(over="ignore"):
            is_huge = replayed.reach > huge
        if is_huge and isinstance(came, StageFailed) and came.stage in _UNFORESEEN:
            raise came
        self._model.perform(call, self._subject.gradients())

    def _oracle_for(self, call: Generate | Train) -> Oracle:
        config = self._model.decoders[call.decoder].config
        return self._oracle_of(config, self._model.weights(call.decoder))


def _due_at(planned: Planned, point: Point) -> Due:
    assert planned.fault is not None
    return Due(error=as_raised(planned.fault, point), struck=point)
