"""The built-in engine under the judge: a script's calls on its public names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from tempfile import TemporaryDirectory

from engine import (
    AdamW,
    AdamWConfig,
    Decoder,
    DecoderConfig,
    DecoderSession,
    KVCache,
    LayerRows,
    Parameter,
    ParameterLayout,
    Probe,
    SplitMix64,
    StepOutput,
    Work,
    generate,
    load,
    loss_and_gradients,
    save,
)
from engine.arrays import Array, Vector
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
from properties.choices import request_of
from properties.difference import Bits
from properties.drawn import gradients, other_config, rebuilt_at, stepped
from properties.subject import Answer, CacheView, Observation, Offer, Subject


class BuiltIn(Subject):
    """The engine of this project, which offers everything."""

    offers = frozenset(Offer)

    def __init__(
        self,
        config: DecoderConfig,
        weights: Mapping[str, Array],
        optimizer: AdamWConfig,
    ) -> None:
        parameters = [Parameter(name, value) for name, value in weights.items()]
        self.decoders = [Decoder.from_parameters(config, parameters)]
        self.caches = [KVCache(self.decoders[0])]
        self.sessions = [[self.caches[0].bind(self.decoders[0])]]
        self.optimizer = AdamW(optimizer)
        self.rng = SplitMix64(0)
        self._probe: Probe | None = None
        self._gradients: Sequence[Array] = ()

    def perform(self, call: Call) -> Answer:
        """Make the call on what the script means by it."""
        match call:
            case Prefill(prompt=prompt):
                return _answer(self._session(call).prefill(prompt))
            case Decode(token_id=token_id):
                return _answer(self._session(call).decode(token_id))
            case Reset():
                self._session(call).reset()
            case Close():
                self._session(call).close()
            case NewDecoder() | Restore() | NewCache() | Copy():
                self._make(call)
            case Bind() | BindRebuilt() | BindChanged():
                cache = self.caches[call.cache]
                session = cache.bind(self._given(call), self._probe)
                self.sessions[call.cache].append(session)
            case Step():
                return Answer(n_steps=self._step(call))
            case Train():
                return Answer(n_steps=self._train(call))
            case Generate():
                return self._generate(call)
        return Answer()

    def observe(self) -> Observation:
        """Every cache and parameter, the optimizer, and the last generator."""
        return Observation(
            caches=tuple(map(_view, self.caches)),
            parameters=self._values(),
            optimizer=self.optimizer.snapshot(),
            generator=self.rng.state,
        )

    def storage(self, cache: int) -> Sequence[tuple[int, int]]:
        """Their addresses."""
        return self.caches[cache].storage_ids

    def rows(self, cache: int) -> Sequence[LayerRows]:
        """Copies, as the cache gives them."""
        return self.caches[cache].layers

    def foul(self, cache: int, value: float) -> None:
        """Spare rows have a public way in."""
        self.caches[cache].fill_spare(value)

    def watch(self, probe: Probe) -> None:
        """Sessions and generations get it; the first session is opened again."""
        self._probe = probe
        self.sessions[0][0].close()
        self.sessions[0][0] = self.caches[0].bind(self.decoders[0], probe)

    def decode_on_copy(self, cache: int, token_id: int) -> Vector:
        """A copy is bound for one call; the cache itself is not touched."""
        twin = copy(self.caches[cache])
        known = twin.snapshot().evidence.parameters
        decoder = next(each for each in self.decoders if each.parameters == known)
        with twin.bind(decoder) as session:
            return session.decode(token_id).logits

    def weights(self) -> Sequence[Mapping[str, Array]]:
        """By decoder."""
        return [decoder.weights for decoder in self.decoders]

    def gradients(self) -> Sequence[Array]:
        """As the last loss had them."""
        return self._gradients

    def moments(self) -> Mapping[str, tuple[Array, Array]]:
        """As the optimizer's snapshot has them."""
        return {each.name: each.arrays() for each in self.optimizer.snapshot().moments}

    def handed_out(self) -> Iterator[Array]:
        """Values, and rows; logits are with the answers."""
        for decoder in self.decoders:  # each parameter is handed out in one way
            yield decoder.parameters[0].value
            yield from decoder.weights.values()
        for moment in self.optimizer.snapshot().moments:
            yield from moment.arrays()
        for cache in self.caches:
            for rows in cache.layers:
                yield from (rows.keys, rows.values)

    def _values(self) -> tuple[bytes, tuple[int, ...]]:
        known = self._parameters()
        values = b"".join([parameter.value.tobytes() for parameter in known])
        bits = Bits.of(values, self.decoders[0].config.dtype)
        return bits, tuple([parameter.revision for parameter in known])

    def _parameters(self) -> Iterable[Parameter]:
        """Each once: decoders share them."""
        if len(self.decoders) == 1:
            return self.decoders[0].parameters
        return dict.fromkeys(
            parameter for decoder in self.decoders for parameter in decoder.parameters
        )

    def _session(self, call: Prefill | Decode | Reset | Close) -> DecoderSession:
        return self.sessions[call.cache][-1 - call.age]

    def _make(self, call: NewDecoder | Restore | NewCache | Copy) -> None:
        match call:
            case Restore(decoder=decoder):
                self._restore(self.decoders[decoder])
            case NewDecoder(decoder=decoder, rebuilt=rebuilt):
                self.decoders.append(_rebuilt(self.decoders[decoder], rebuilt))
            case NewCache(decoder=decoder, work=work):
                self._keep(KVCache(self.decoders[decoder], work=Work(*work)))
            case Copy(cache=cache):
                self._keep(copy(self.caches[cache]))

    def _restore(self, decoder: Decoder) -> None:
        """The generator's state is a number, so only the file can have changed it."""
        with TemporaryDirectory() as folder:
            path = f"{folder}/saved"
            save(path, decoder, self.optimizer, self.rng)
            loaded = load(path)
        self.decoders.append(loaded.decoder)
        self.optimizer = loaded.optimizer or AdamW(self.optimizer.config)
        self.rng = loaded.rng or SplitMix64(0)

    def _keep(self, cache: KVCache) -> None:
        self.caches.append(cache)
        self.sessions.append([])

    def _given(self, call: Bind | BindRebuilt | BindChanged) -> Decoder:
        """The decoder that is bound."""
        decoder = self.decoders[call.decoder]
        match call:
            case Bind():
                return decoder
            case BindRebuilt(rebuilt=rebuilt):
                return _rebuilt(decoder, rebuilt)
            case BindChanged(changes=changes):
                config = other_config(decoder.config, changes)
                try:
                    return Decoder.from_parameters(config, decoder.parameters)
                except ParameterLayout:
                    return Decoder.initialize(config, SplitMix64(0))

    def _step(self, call: Step) -> int:
        decoder = self.decoders[call.decoder]
        parameters = stepped(call, decoder.parameters)
        shapes = tuple(parameter.value.shape for parameter in parameters)
        given = gradients(call, shapes, decoder.config.dtype)
        return self.optimizer.step(parameters, given)

    def _train(self, call: Train) -> int:
        decoder = self.decoders[call.decoder]
        _, self._gradients = loss_and_gradients(decoder, call.tokens, call.targets)
        return self.optimizer.step(decoder.parameters, self._gradients)

    def _generate(self, call: Generate) -> Answer:
        self.rng = SplitMix64(call.rng_state)
        request = request_of(call)
        decoder = self.decoders[call.decoder]
        made = generate(decoder, call.prompt, request, self.rng, self._probe)
        return Answer(generation=made)


def _view(cache: KVCache) -> CacheView:
    length, work, evidence, bits = cache.snapshot()
    return CacheView(length, work, Bits.of(bits, evidence.config.dtype), evidence)


def _answer(output: StepOutput) -> Answer:
    return Answer(
        logits=output.logits,
        position=output.position,
        length=output.length,
        attention_scores=output.attention_scores,
    )


def _rebuilt(decoder: Decoder, rebuilt: Sequence[int]) -> Decoder:
    renewed = rebuilt_at(rebuilt, len(decoder.parameters))
    parameters = [
        Parameter(each.name, each.value) if index in renewed else each
        for index, each in enumerate(decoder.parameters)
    ]
    return Decoder.from_parameters(decoder.config, parameters)
