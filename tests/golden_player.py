"""Plays a recorded session on both paths and compares all of it with its record."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from engine import (
    AdamW,
    AdamWConfig,
    Decoder,
    DecoderSession,
    EmptyPrompt,
    KVCache,
    Parameter,
    PromptTokenOutOfRange,
    PromptTooLong,
    SplitMix64,
    StepOutput,
    loss_and_gradients,
)
from reference import Replay, replay
from tests.golden_refusals import Refusal, recorded_refusal, refusal_by
from tests.golden_traces import (
    EXACT,
    LOOSE,
    Bind,
    BindChanged,
    BindRebuilt,
    Decode,
    Inspect,
    Op,
    OptimizerStep,
    Prefill,
    Row,
    SessionTrace,
    State,
    TrainStep,
    config_of,
    distance,
    work_of,
)
from tests.replayed import replayed_loss, weights_of

OUR_FIELD = {
    "heads": "n_heads",
    "max_positions": "capacity",
    "rope_base": "rope_base",
    "rms_epsilon": "rms_epsilon",
}


@dataclass(slots=True)
class Player:
    """One session under way; every operation is compared with its record."""

    decoder: Decoder
    optimizer: AdamW
    cache: KVCache
    session: DecoderSession | None = None
    history: tuple[int, ...] = ()
    replayed: Replay | None = None  # of the history, on the weights of its time
    bound: float = EXACT
    played: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, trace: SessionTrace) -> "Player":
        rng = SplitMix64(int(trace["init_seed"], 16))
        decoder = Decoder.initialize(config_of(trace["config"]), rng)
        optimizer = AdamW(AdamWConfig(**trace["adamw"]))
        return cls(decoder, optimizer, KVCache(decoder))

    def play(self, op: Op) -> None:  # noqa: C901 # one case an operation
        match op["op"]:
            case "new_cache":
                self.renew()
            case "bind":
                self.bind(op)
            case "bind_rebuilt_equal_values":
                self.bind_rebuilt(op)
            case "bind_changed_config":
                self.bind_changed(op)
            case "prefill":
                self.prefill(op)
            case "decode":
                self.decode(op)
            case "reset":
                self.reset()
            case "optimizer_step":
                self.step_inside(op)
            case "close":
                self.close()
            case "inspect":
                self.inspect(op)
            case "train_step":
                self.train(op)
        if "state" in op:
            self.compare_state(op["state"])
        self.played[op["op"]] += 1

    def renew(self) -> None:
        assert self.session is None
        self.cache = KVCache(self.decoder)
        self.history, self.replayed = (), None

    def bind(self, op: Bind) -> None:
        assert self.session is None
        if "error" in op["result"]:
            expected = recorded_refusal(op["result"]["error"], self.decoder.parameters)
            self.refuse(op, lambda: self.cache.bind(self.decoder), expected)
        else:
            self.session = self.cache.bind(self.decoder)

    def bind_rebuilt(self, op: BindRebuilt) -> None:
        parameters = list(self.decoder.parameters)
        first = op["replaced_from"]
        end = first + 1 if op["only_that_one"] else len(parameters)
        for index, old in enumerate(parameters[first:end], first):
            parameters[index] = Parameter(old.name, old.value)
        rebuilt = Decoder.from_parameters(self.decoder.config, parameters)
        expected = recorded_refusal(op["result"]["error"], parameters)
        self.refuse(op, lambda: self.cache.bind(rebuilt), expected)

    def bind_changed(self, op: BindChanged) -> None:
        """The original compares whole configurations; ours names the first field."""
        config, changed = self.decoder.config, config_of(op["changed"])
        ours = (getattr(config, each.name) for each in fields(config))
        theirs = (getattr(changed, each.name) for each in fields(config))
        first = next(
            {"field": each.name, "cached": cached, "given": given}
            for each, cached, given in zip(fields(config), ours, theirs, strict=True)
            if cached != given
        )
        other = Decoder.from_parameters(changed, self.decoder.parameters)
        leaf, recorded = recorded_refusal(op["result"]["error"])
        self.refuse(op, lambda: self.cache.bind(other), (leaf, recorded | first))
        assert first["field"] == OUR_FIELD[op["field"]]

    def prefill(self, op: Prefill) -> None:
        session, tokens = self.open_session(), op["tokens"]
        if "error" in op["result"]:
            expected = recorded_refusal(op["result"]["error"])
            self.refuse(op, lambda: session.prefill(tokens), expected)
            if expected[0] in {EmptyPrompt, PromptTooLong, PromptTokenOutOfRange}:
                assert refusal_by(lambda: self.replay(tokens)) == expected
        else:
            self.history = tuple(tokens)
            self.compare_row(session.prefill(tokens), op["result"])

    def decode(self, op: Decode) -> None:
        session, token_id = self.open_session(), op["token"]
        if "error" in op["result"]:
            expected = recorded_refusal(op["result"]["error"])
            self.refuse(op, lambda: session.decode(token_id), expected)
        else:
            self.history = (*self.history, token_id)
            self.compare_row(session.decode(token_id), op["result"])

    def reset(self) -> None:
        self.open_session().reset()
        self.history, self.replayed = (), None

    def step_inside(self, op: OptimizerStep) -> None:
        parameters = self.decoder.parameters
        gradients = [np.zeros_like(parameter.value) for parameter in parameters]
        before = self.optimizer.snapshot(), self.weight_bits()
        expected = recorded_refusal(op["result"]["error"])
        self.open_session()
        self.refuse(op, lambda: self.optimizer.step(parameters, gradients), expected)
        assert (self.optimizer.snapshot(), self.weight_bits()) == before

    def close(self) -> None:
        self.open_session().close()
        self.session = None

    def inspect(self, op: Inspect) -> None:
        assert len(self.cache.layers) == len(op["keys"]) == len(op["values"])
        for index, rows in enumerate(self.cache.layers):
            assert distance(rows.keys, op["keys"][index]) <= self.bound
            assert distance(rows.values, op["values"][index]) <= self.bound
            if self.replayed:
                keys, values = self.replayed.keys[index], self.replayed.values[index]
                assert keys.shape == rows.keys.shape
                assert values.shape == rows.values.shape
                assert distance(keys, op["keys"][index]) <= self.bound
                assert distance(values, op["values"][index]) <= self.bound

    def train(self, op: TrainStep) -> None:
        assert self.session is None
        tokens, targets, parameters = (
            op["tokens"],
            op["targets"],
            self.decoder.parameters,
        )
        loss, gradients = loss_and_gradients(self.decoder, tokens, targets)
        replayed = replayed_loss(
            self.decoder.config, weights_of(self.decoder), tokens, targets
        )
        assert distance(loss, [op["loss"]]) <= self.bound
        assert distance(replayed, [op["loss"]]) <= self.bound
        if op["gradients"] is None or op["parameters_after"] is None:
            self.bound = LOOSE
            assert self.optimizer.step(parameters, gradients) == op["result"]["step"]
            return
        recorded = []
        for ours, theirs in zip(gradients, op["gradients"], strict=True):
            assert distance(ours, theirs) <= self.bound
            recorded.append(np.array(theirs, dtype=np.float64).reshape(ours.shape))
        assert self.optimizer.step(parameters, recorded) == op["result"]["step"]
        for parameter, theirs in zip(parameters, op["parameters_after"], strict=True):
            assert distance(parameter.value, theirs) <= self.bound

    def open_session(self) -> DecoderSession:
        assert self.session is not None
        return self.session

    def replay(self, token_ids: Sequence[int]) -> Replay:
        return replay(self.decoder.config, weights_of(self.decoder), token_ids)

    def weight_bits(self) -> list[tuple[int, bytes]]:
        return [
            (each.revision, each.value.tobytes()) for each in self.decoder.parameters
        ]

    def refuse(self, op: Op, call: Callable[[], object], expected: Refusal) -> None:
        before = self.cache.snapshot()
        assert refusal_by(call) == expected
        assert self.cache.snapshot() == before
        self.refused[op["op"]] += 1

    def compare_row(self, output: StepOutput, row: Row) -> None:
        assert output.position == row["position"]
        assert output.length == row["cache_len"]
        assert output.attention_scores == row["scores"]
        assert distance(output.logits, row["logits"]) <= self.bound
        self.replayed = self.replay(self.history)
        newest, recorded = self.replayed.logits[-1], row["complete_prefix_logits"]
        assert distance(newest, recorded) <= self.bound
        assert distance(newest, row["logits"]) <= self.bound
        assert self.replayed.attention_scores == row["complete_prefix_scores"]

    def compare_state(self, state: State) -> None:
        assert self.cache.length == state["len"] == len(self.history)
        assert [rows.length for rows in self.cache.layers] == state["layer_lens"]
        assert self.cache.work == work_of(state["work"])
