"""A script's calls on the model: what each must be answered, and what it changes."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict
from functools import lru_cache
from typing import TypeVar

from engine import AdamWConfig, DecoderConfig, Work
from engine.arrays import Array
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Close,
    Copy,
    Decode,
    Generate,
    NewCache,
    NewDecoder,
    Prefill,
    Reset,
    Restore,
    Step,
    Train,
)
from properties.drawn import gradients, other_config, rebuilt_at, stepped
from properties.script import LARGE_STEP, ScriptRejected
from properties.stepping import StepBounds, step_bounds
from reference.optimizer import OptimizerModel
from reference.session import (
    CacheModel,
    DecoderModel,
    ParameterModel,
    SessionModel,
    check_training,
)

T = TypeVar("T")


class Model:
    """Decoders, caches and one optimizer, as the calls so far must have left them.

    Attributes:
        values: of every parameter
        weights_of: by cache, the values that its rows are computed from
        step_bounds: by how much what the last step made may be missed, by parameter
    """

    def __init__(
        self,
        config: DecoderConfig,
        weights: Mapping[str, Array],
        optimizer: AdamWConfig = LARGE_STEP,
    ) -> None:
        self.values = {ParameterModel(name): value for name, value in weights.items()}
        self.decoders = [DecoderModel(config, tuple(self.values))]
        self.caches: list[CacheModel] = []
        self.weights_of: list[Mapping[str, Array]] = []
        self.optimizer = OptimizerModel(**_constants(optimizer))
        self.step_bounds: Mapping[ParameterModel, StepBounds] = {}
        self.perform(NewCache())
        self.perform(Bind())

    def weights(self, decoder: int) -> dict[str, Array]:
        """The values of a decoder's parameters as they are now."""
        parameters = self.decoders[decoder].parameters
        return {each.name: self.values[each] for each in parameters}

    def perform(self, call: Call, given: Sequence[Array] | None = None) -> None:
        """Make the call.

        Args:
            call: what is called
            given: the gradients that a ``Train`` steps on; zeros, if not told

        Raises:
            ScriptRejected: the call names what does not exist; nothing changed.
            Exception: the refusal that is due; nothing changed.
        """
        match call:
            case NewDecoder(decoder=decoder, rebuilt=rebuilt):
                self._add_decoder(decoder, self._rebuilt(decoder, rebuilt))
            case Restore(decoder=decoder):
                n_parameters = len(self._decoder(decoder).parameters)
                restored = self._rebuilt(decoder, range(n_parameters))
                self._add_decoder(decoder, restored)
            case NewCache() | Copy() | Bind() | BindRebuilt() | BindChanged():
                self._perform_on_cache(call)
            case Prefill() | Decode() | Reset() | Close():
                self._perform_on_session(call)
            case Step():
                made = self._decoder(call.decoder)
                parameters = stepped(call, made.parameters)
                shapes = tuple(self.values[each].shape for each in parameters)
                self._step(parameters, gradients(call, shapes, made.config.dtype))
            case Train(tokens=tokens, targets=targets):
                trained = self._decoder(call.decoder)
                check_training(trained.config, tokens, targets)
                values = [self.values[each] for each in trained.parameters]
                self._step(trained.parameters, given or [0 * each for each in values])
            case Generate():
                self._decoder(call.decoder)  # and nothing else stays of it

    def require(self, call: Prefill | Decode) -> None:
        """Nothing but the refusal of a call that will fail on its way.

        Raises:
            ScriptRejected: the call names what does not exist; nothing changed.
            Exception: the refusal that is due; nothing changed.
        """
        kept = self.cache(call.cache)
        content = kept.content
        self.perform(call)
        kept.content = content

    def _perform_on_cache(
        self, call: NewCache | Copy | Bind | BindRebuilt | BindChanged
    ) -> None:
        match call:
            case NewCache(decoder=decoder, work=work):
                self.caches.append(CacheModel(self._decoder(decoder), Work(*work)))
                self.weights_of.append(self.weights(decoder))
            case Copy(cache=cache):
                self.caches.append(self.cache(cache).copy())
                self.weights_of.append(self.weights_of[cache])
            case Bind(cache=cache, decoder=decoder):
                self.cache(cache).bind(self._decoder(decoder))
            case BindRebuilt(cache=cache, decoder=decoder, rebuilt=rebuilt):
                self.cache(cache).bind(self._rebuilt(decoder, rebuilt))
            case BindChanged(cache=cache, decoder=decoder, changes=changes):
                given = self._decoder(decoder)
                config = other_config(given.config, changes)
                self.cache(cache).bind(DecoderModel(config, given.parameters))

    def _perform_on_session(self, call: Prefill | Decode | Reset | Close) -> None:
        session = self.session(call.cache, call.age)
        match call:
            case Prefill(prompt=prompt):
                session.prefill(prompt)
            case Decode(token_id=token_id):
                session.decode(token_id)
            case Reset():
                session.reset()
            case Close():
                session.close()

    def _step(self, chosen: Sequence[ParameterModel], given: Sequence[Array]) -> None:
        weights = [self.values[each] for each in chosen]
        bound = [each for each in self.caches if each.is_bound]
        borrowed = {parameter for each in bound for parameter in each.parameters}
        before = copy(self.optimizer)
        values = self.optimizer.step(chosen, weights, given, borrowed)
        self.step_bounds = {
            parameter: step_bounds(before, parameter.name, weight, gradient)
            for parameter, weight, gradient in zip(chosen, weights, given, strict=True)
        }
        self.values.update(zip(chosen, values, strict=True))

    def _add_decoder(self, source: int, made: DecoderModel) -> None:
        """One that has the values of another."""
        old = self.decoders[source].parameters
        values = [self.values[parameter] for parameter in old]
        self.values.update(zip(made.parameters, values, strict=True))
        self.decoders.append(made)

    def _rebuilt(self, decoder: int, rebuilt: Sequence[int]) -> DecoderModel:
        old = self._decoder(decoder)
        renewed = rebuilt_at(rebuilt, len(old.parameters))
        parameters = tuple(
            ParameterModel(parameter.name) if index in renewed else parameter
            for index, parameter in enumerate(old.parameters)
        )
        return DecoderModel(old.config, parameters)

    def session(self, cache: int, age: int) -> SessionModel:
        """The session that was opened on a cache ``age`` sessions before the newest."""
        sessions = self.cache(cache).sessions
        if age >= len(sessions):
            raise ScriptRejected(f"cache {cache} has had {len(sessions)} sessions")
        return sessions[-1 - age]

    def cache(self, index: int) -> CacheModel:
        """A cache, by its number."""
        return _at(index, self.caches, "cache")

    def _decoder(self, index: int) -> DecoderModel:
        return _at(index, self.decoders, "decoder")


@lru_cache
def _constants(optimizer: AdamWConfig) -> Mapping[str, float]:
    return asdict(optimizer)


def _at(index: int, made: Sequence[T], what: str) -> T:
    if index >= len(made):
        raise ScriptRejected(f"there is no {what} {index}")
    return made[index]
