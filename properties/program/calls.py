"""``Statements``: each call of a script as Python, on names of its own."""

from typing import Final

from engine import Decoder, Parameter, ParameterLayout
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Changes,
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
from properties.drawn import initial_weights, other_config
from properties.program.lines import filled, listed, said, tokens
from properties.program.values import (
    gradient_lines,
    optimizer_lines,
    rebuilt,
    request_lines,
)
from properties.script import Script

ALONE: Final = "{}"
"""A call whose answer nobody asks for."""


class Statements:
    """What is called, in the order of calls: names follow from what came before.

    Args:
        script: whose calls these are

    Attributes:
        lines: what is written
        decoders: their names, by their numbers
        caches: the same of caches
        sessions: by cache, the names of its sessions
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.lines = list[str]()
        self.decoders = ["decoder"]
        self.caches = list[str]()
        self.sessions = list[list[str]]()
        self._has_optimizer = self._has_generator = False

    def of(self, call: Call, answer: str = ALONE) -> list[str]:
        """A call as lines, the last of which makes it.

        Args:
            call: what is called
            answer: what becomes of its answer, that stands for ``{}``
        """
        start, end = answer.split("{}")
        match call:
            case Prefill() | Decode() | Reset() | Close():
                return self._on_session(call, start, end)
            case NewDecoder() | Restore():
                return self._decoder(call)
            case NewCache() | Copy():
                return self._cache(call)
            case Bind() | BindRebuilt() | BindChanged():
                return self._bind(call, start, end)
            case Generate():
                return self._generate(call, start, end)
            case Step() | Train():
                return self._step(call, start, end)

    def session(self, call: Prefill | Decode | Reset | Close) -> str:
        """The name of the session that a call goes to."""
        return self.sessions[call.cache][-1 - call.age]

    def new_session(self, cache: int) -> str:
        """The name of a session that is opened now."""
        n_sessions = sum(map(len, self.sessions))
        self.sessions[cache].append(_named("session", n_sessions))
        return self.sessions[cache][-1]

    def need_optimizer(self) -> None:
        """From here on there is one."""
        if not self._has_optimizer:
            self.lines += optimizer_lines(self.script.optimizer)
        self._has_optimizer = True

    def _on_session(
        self, call: Prefill | Decode | Reset | Close, start: str, end: str
    ) -> list[str]:
        session = self.session(call)
        if isinstance(call, Decode):
            return [f"{start}{session}.decode({call.token_id!r}){end}"]
        if not isinstance(call, Prefill):
            return [f"{start}{session}.{call.call}(){end}"]
        return tokens(f"{start}{session}.prefill(", call.prompt, f"){end}")

    def _decoder(self, call: NewDecoder | Restore) -> list[str]:
        source, name = self.decoders[call.decoder], f"decoder_{len(self.decoders)}"
        self.decoders.append(name)
        if isinstance(call, NewDecoder):
            parameters = self._rebuilt(source, call.rebuilt)
            return [
                *parameters,
                f"{name} = Decoder.from_parameters(config, parameters)",
            ]
        self.need_optimizer()
        if not self._has_generator:
            self.lines.append("rng = SplitMix64(0)")
        self._has_generator = True
        return [
            "with TemporaryDirectory() as folder:",
            f'    save(folder + "/saved", {source}, optimizer, rng)',
            '    loaded = load(folder + "/saved")',
            f"{name}, optimizer, rng = loaded.decoder, loaded.optimizer, loaded.rng",
        ]

    def _cache(self, call: NewCache | Copy) -> list[str]:
        name = _named("cache", len(self.caches))
        self.caches.append(name)
        self.sessions.append([])
        if isinstance(call, Copy):
            return [f"{name} = copy({self.caches[call.cache]})"]
        head = f"{name} = KVCache({self.decoders[call.decoder]}"
        if not any(call.work):
            return [f"{head})"]
        return filled(f"{head}, Work(", listed(map(repr, call.work), "))"))

    def _bind(
        self, call: Bind | BindRebuilt | BindChanged, start: str, end: str
    ) -> list[str]:
        decoder, lines = self.decoders[call.decoder], list[str]()
        if isinstance(call, BindRebuilt):
            lines += self._rebuilt(decoder, call.rebuilt)
            lines.append("other = Decoder.from_parameters(config, parameters)")
        if isinstance(call, BindChanged):
            lines += self._changed(decoder, call.changes)
        decoder = "other" if lines else decoder
        bind = f"{self.caches[call.cache]}.bind({decoder}{self._probe})"
        return [*lines, f"{start}{bind}{end}"]

    def _rebuilt(self, decoder: str, indices: tuple[int, ...]) -> list[str]:
        weights = initial_weights(self.script.config, self.script.weights)
        return rebuilt(decoder, indices, len(weights))

    def _changed(self, decoder: str, changes: Changes) -> list[str]:
        """A decoder of another configuration, and the same parameters if they fit."""
        config = self.script.config
        fields = changes.model_dump(exclude_none=True).items()
        named = [f"{name}={said(value)}" for name, value in fields]
        lines = filled("changed = replace(", listed(["config", *named], ")"))
        weights = initial_weights(config, self.script.weights)
        parameters = [Parameter(name, value) for name, value in weights.items()]
        made = f"Decoder.from_parameters(changed, {decoder}.parameters)"
        try:
            Decoder.from_parameters(other_config(config, changes), parameters)
        except ParameterLayout:
            made = "Decoder.initialize(changed, SplitMix64(0))"
        return [*lines, f"other = {made}"]

    def _step(self, call: Step | Train, start: str, end: str) -> list[str]:
        decoder = self.decoders[call.decoder]
        parameters = f"{decoder}.parameters"
        self.need_optimizer()
        if isinstance(call, Train):
            given = f"{decoder}, {said(call.tokens)}, {said(call.targets)}"
            lines = [f"_, gradients = loss_and_gradients({given})"]
        else:
            lines = []
            if call.flaw is not None and call.flaw.kind in {"duplicate", "subset"}:
                parameters = "parameters"
            self.lines += gradient_lines(call, self.script.config, decoder, parameters)
        return [*lines, f"{start}optimizer.step({parameters}, gradients){end}"]

    def _generate(self, call: Generate, start: str, end: str) -> list[str]:
        self._has_generator = True
        decoder, prompt = self.decoders[call.decoder], said(call.prompt)
        made = f"generate({decoder}, {prompt}, request, rng{self._probe})"
        rng = f"rng = SplitMix64({call.rng_state})"
        return [rng, *request_lines(call), f"{start}{made}{end}"]

    @property
    def _probe(self) -> str:
        return ", probe" if self.script.faults else ""


def _named(kind: str, number: int) -> str:
    return f"{kind}_{number}" if number else kind
