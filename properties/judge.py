"""``Judge``: makes a call on a session, and holds the answer against a replay."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from engine import (
    AdamW,
    AdamWConfig,
    Decoder,
    EngineError,
    KVCache,
    ParameterBorrowed,
    ParameterRevisionMismatch,
    StepOutput,
    Work,
    loss_and_gradients,
)
from engine.arrays import Array
from properties.tolerance import TOLERANCE
from reference import replay
from reference.replay import Reals

LARGE_STEP: Final = AdamWConfig(
    learning_rate=0.5, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.1
)


class Judge:
    """One decoder, one cache, its session, and the tokens that it must have seen.

    The model is the list of tokens. Every answer must be the newest position of their
    replay, every row one of its rows, every counter a closed form of their numbers.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self.optimizer = AdamW(LARGE_STEP)
        self._renew()

    def _renew(self) -> None:
        self.cache = KVCache(self.decoder)
        self.session = self.cache.bind(self.decoder)
        self.history: list[int] = []
        self.n_decoded = 0

    def prefill(self, prompt: Sequence[int]) -> None:
        self.history = list(prompt)
        self.n_decoded = 0
        self._judge(self.session.prefill(prompt))

    def decode(self, token_id: int) -> None:
        self.history.append(token_id)
        self.n_decoded += 1
        self._judge(self.session.decode(token_id))

    def reset(self) -> None:
        bits = self.cache.snapshot().bits
        self.session.reset()
        self.history = []
        self.n_decoded = 0

        assert self.cache.snapshot().bits == bits

    def rebind(self) -> None:
        before = self.cache.snapshot()
        self.session.close()
        self.session = self.cache.bind(self.decoder)

        assert self.cache.snapshot() == before

    def refuses(self, refusal: EngineError, call: Callable[[], object]) -> None:
        """The call raises exactly this, and nothing changes."""
        before = self.cache.snapshot(), self.optimizer.snapshot(), self._parameters()
        raised = None
        try:
            call()
        except EngineError as error:
            raised = error
        after = self.cache.snapshot(), self.optimizer.snapshot(), self._parameters()

        assert repr(raised) == repr(refusal)  # class and fields
        assert after == before

    def refuses_a_step(self) -> None:
        """The open session keeps every parameter from being replaced."""
        gradients = [parameter.value for parameter in self.decoder.parameters]
        name = self.decoder.parameters[0].name
        self.refuses(
            ParameterBorrowed(name),
            lambda: self.optimizer.step(self.decoder.parameters, gradients),
        )

    def step_and_renew(self) -> None:
        """A step between sessions makes the cache stale for ever, reset or not."""
        stale = self.cache
        first = self.decoder.parameters[0]
        revision = first.revision
        self.session.close()
        tokens = self.history or [0]
        _, gradients = loss_and_gradients(self.decoder, tokens, tokens)
        self.optimizer.step(self.decoder.parameters, gradients)
        revisions = {parameter.revision for parameter in self.decoder.parameters}

        assert revisions == {revision + 1}
        refusal = ParameterRevisionMismatch(0, first.name, revision, revision + 1)
        self.refuses(refusal, lambda: stale.bind(self.decoder))
        self._renew()

    def _judge(self, output: StepOutput) -> None:
        length = len(self.history)
        config = self.decoder.config
        expected = replay(config, self.decoder.weights, self.history)

        assert (output.position, output.length) == (length - 1, length)
        assert output.attention_scores == config.n_layers * config.n_heads * length
        _assert_close("logits of the newest row", output.logits, expected.logits[-1])
        for layer, rows in enumerate(self.cache.layers):
            _assert_close(f"keys of block {layer}", rows.keys, expected.keys[layer])
            values = expected.values[layer]
            _assert_close(f"values of block {layer}", rows.values, values)

    def counters_are_exact(self) -> None:
        config = self.decoder.config
        length = len(self.history)
        triangle = length * (length + 1) // 2

        assert self.cache.length == length
        assert self.cache.work == Work(
            token_forwards=length,
            prefill_tokens=length - self.n_decoded,
            decode_tokens=self.n_decoded,
            cache_appends=config.n_layers * length,
            qkv_projection_rows=3 * config.n_layers * length,
            attention_scores=config.n_layers * config.n_heads * triangle,
        )

    def _parameters(self) -> list[tuple[bytes, int]]:
        parameters = self.decoder.parameters
        return [(each.value.tobytes(), each.revision) for each in parameters]


def _assert_close(what: str, actual: Array, expected: Reals) -> None:
    """Within the tolerance of the largest magnitude compared; NaN is within nothing."""
    assert actual.shape == expected.shape
    bound = TOLERANCE * max(1.0, float(np.abs(expected).max(initial=0)))
    differing = np.argwhere(~(np.abs(actual - expected) <= bound))
    if len(differing):
        place = tuple(differing[0].tolist())
        came, due = actual[place], expected[place]
        message = f"{what} at {place}: {came}, the replay has {due}, bound {bound}"
        raise AssertionError(message)
