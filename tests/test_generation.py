"""Generation: what stops it, what it counts, and what a refusal leaves."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import engine.generation
from engine.adamw import AdamWConfig
from engine.arrays import Vector
from engine.cache import KVCache
from engine.config import DecoderConfig
from engine.decoder import Decoder
from engine.errors import (
    EmptyPrompt,
    EosTokenOutOfRange,
    InvalidBudget,
    InvalidTemperature,
    InvalidTopK,
    PromptTokenOutOfRange,
    PromptTooLong,
    StageFailed,
)
from engine.generation import generate
from engine.optimizer import AdamW
from engine.parameters import Parameter, held_by
from engine.request import GenerationRequest, GenerationWork, Greedy, Mode, TopK
from engine.sampling import Choice, choose
from engine.session import DecoderSession
from engine.splitmix import SplitMix64

SAMPLED = TopK(temperature=1.0, k=3)


def _config(capacity: int = 4) -> DecoderConfig:
    return DecoderConfig(
        vocab_size=5,
        d_model=4,
        n_heads=2,
        n_kv_heads=2,
        d_ff=4,
        n_layers=2,
        capacity=capacity,
        rope_base=10_000.0,
        rms_epsilon=1e-6,
    )


def _request(
    mode: Mode = SAMPLED, eos_token: int | None = None, max_new_tokens: int = 9
) -> GenerationRequest:
    return GenerationRequest(
        mode=mode, eos_token=eos_token, max_new_tokens=max_new_tokens
    )


@pytest.fixture
def decoder() -> Decoder:
    return Decoder.initialize(_config(), SplitMix64(38))


def test_generation_is_the_sessions_choices(decoder: Decoder) -> None:
    stream = SplitMix64(5)
    with KVCache(decoder).bind(decoder) as session:
        first = choose(session.prefill([0, 1]).logits, SAMPLED, stream)
        second = choose(session.decode(first.token_id).logits, SAMPLED, stream)
    rng = SplitMix64(5)
    generation = generate(decoder, [0, 1], _request(max_new_tokens=2), rng)

    assert generation.prompt == (0, 1)
    assert generation.generated == (first.token_id, second.token_id)
    assert [
        (step.token_id, step.unit_draw, step.interval_start, step.interval_end)
        for step in generation.steps
    ] == [first, second]
    assert [step.prefix_length for step in generation.steps] == [2, 3]
    assert rng.state == stream.state


def test_generation_stops_at_the_token_limit(decoder: Decoder) -> None:
    generation = generate(decoder, [0], _request(max_new_tokens=2), SplitMix64(1))

    assert (generation.stop, generation.final_length) == ("token-limit", 2)


def test_generation_stops_at_the_context_limit(decoder: Decoder) -> None:
    generation = generate(decoder, [0, 1, 2], _request(), SplitMix64(1))

    assert (generation.stop, generation.final_length) == ("context-limit", 4)
    assert len(generation.generated) == 2


@pytest.mark.parametrize("budget", [1, 9])
def test_generation_stops_for_eos_before_the_limits(budget: int) -> None:
    """At capacity 1 all three stops are due at once."""
    decoder = Decoder.initialize(_config(capacity=1), SplitMix64(38))
    chosen = generate(decoder, [0], _request(Greedy()), SplitMix64(1)).generated[0]
    generation = generate(
        decoder,
        [0],
        _request(Greedy(), eos_token=chosen, max_new_tokens=budget),
        SplitMix64(1),
    )

    assert generation.stop == "eos"
    assert generation.generated == (chosen,)


def test_generation_stops_for_tokens_before_context() -> None:
    decoder = Decoder.initialize(_config(capacity=1), SplitMix64(38))
    generation = generate(decoder, [0], _request(max_new_tokens=1), SplitMix64(1))

    assert generation.stop == "token-limit"


def test_generation_counts_its_work(decoder: Decoder) -> None:
    generation = generate(decoder, [0, 1], _request(max_new_tokens=3), SplitMix64(1))

    assert generation.work == GenerationWork(
        prefill_tokens=2,
        decode_tokens=2,
        layer_caches=2,
        cache_appends=8,
        qkv_projection_rows=24,
        cached_attention_scores=4 * (1 + 2 + 3 + 4),
        replayed_attention_scores=4 * (2**2 + 3**2 + 4**2),
    )


def test_generation_without_a_budget_does_nothing(decoder: Decoder) -> None:
    rng = SplitMix64(5)
    generation = generate(decoder, [0, 1], _request(max_new_tokens=0), rng)

    assert (generation.prompt, generation.generated) == ((0, 1), ())
    assert (generation.stop, generation.final_length) == ("token-limit", 0)
    assert generation.work == GenerationWork(
        prefill_tokens=0,
        decode_tokens=0,
        layer_caches=2,
        cache_appends=0,
        qkv_projection_rows=0,
        cached_attention_scores=0,
        replayed_attention_scores=0,
    )
    assert rng.state == 5


def test_greedy_generation_draws_nothing(decoder: Decoder) -> None:
    rng = SplitMix64(5)
    steps = generate(decoder, [0], _request(Greedy()), rng).steps

    assert rng.state == 5
    assert {
        (step.unit_draw, step.interval_start, step.interval_end) for step in steps
    } == {(None, 0.0, 1.0)}


def test_generation_takes_any_iterable_and_any_number(decoder: Decoder) -> None:
    mode = TopK(temperature=np.float32(0.5), k=np.int8(3))  # type: ignore[arg-type] # any real, any integer
    request = _request(mode, eos_token=np.int64(9) % 5, max_new_tokens=np.uint8(3))  # type: ignore[arg-type] # any integer
    exact = _request(TopK(temperature=0.5, k=3), eos_token=4, max_new_tokens=3)
    generation = generate(decoder, iter([np.int64(1)]), request, SplitMix64(1))

    assert generation == generate(decoder, [1], exact, SplitMix64(1))


def test_generation_takes_any_object_with_a_state(decoder: Decoder) -> None:
    rng = SimpleNamespace(state=5)
    drawn = SplitMix64(5)
    drawn.draws(2)
    generate(decoder, [0], _request(max_new_tokens=2), rng)

    assert rng.state == drawn.state


# What must be refused, leaving no trace. Every case has all the later faults too.

_REFUSED = {
    "empty": ([], _request(TopK(temperature=0, k=0), 5, -1), EmptyPrompt, ()),
    "long": ([5] * 5, _request(TopK(temperature=0, k=0), 5, -1), PromptTooLong, (5, 4)),
    "token": (
        [0, 5, True],
        _request(TopK(temperature=0, k=0), 5, -1),
        PromptTokenOutOfRange,
        (1, 5, 5),
    ),
    "token_type": ([0, True, 5], _request(SAMPLED, 5, -1), TypeError, None),
    "eos": (
        [0],
        _request(TopK(temperature=0, k=0), 5, -1),
        EosTokenOutOfRange,
        (5, 5),
    ),
    "eos_negative": ([0], _request(Greedy(), -1, -1), EosTokenOutOfRange, (-1, 5)),
    "eos_type": (
        [0],
        _request(TopK(temperature=0, k=0), eos_token=False),
        TypeError,
        None,
    ),
    "k": ([0], _request(TopK(temperature=1, k=0), 4, -1), InvalidTopK, (0, 5)),
    "k_large": ([0], _request(TopK(temperature=1, k=6), 4, -1), InvalidTopK, (6, 5)),
    "k_type": ([0], _request(TopK(temperature=1, k=True), 4, -1), TypeError, None),
    "budget": ([0], _request(Greedy(), 4, -1), InvalidBudget, (-1,)),
    "budget_type": ([0], _request(Greedy(), max_new_tokens=True), TypeError, None),
}


@pytest.mark.parametrize("case", _REFUSED)
def test_generation_refuses(decoder: Decoder, case: str) -> None:
    prompt, request, error, arguments = _REFUSED[case]

    _assert_refused(decoder, prompt, request, error, arguments)


@pytest.mark.parametrize("value", [0, -1.0, True, np.nan, np.inf, -np.inf, 10**400])
def test_generation_refuses_the_temperature(decoder: Decoder, value: float) -> None:
    request = _request(TopK(temperature=value, k=0), max_new_tokens=-1)

    _assert_refused(decoder, [0], request, InvalidTemperature, (value,))


def test_generation_refuses_a_temperature_that_no_float_can_hold(
    decoder: Decoder,
) -> None:
    tiny = Fraction(1, 10**400)
    request = _request(TopK(temperature=tiny, k=0))  # type: ignore[arg-type] # a real number

    _assert_refused(decoder, [0], request, InvalidTemperature, (tiny,))


@pytest.mark.parametrize("value", ["1", None, 1j, Decimal(1), [1.0]])
def test_generation_refuses_a_temperature_that_is_no_number(
    decoder: Decoder, value: float
) -> None:
    request = _request(TopK(temperature=value, k=0), max_new_tokens=-1)

    _assert_refused(decoder, [0], request, TypeError, None)


@pytest.mark.parametrize("mode", ["greedy", None, TopK, Greedy])
def test_generation_refuses_another_mode(decoder: Decoder, mode: Mode) -> None:
    _assert_refused(decoder, [0], _request(mode, max_new_tokens=-1), TypeError, None)


def test_failed_generation_leaves_the_generator() -> None:
    rng = SplitMix64(5)
    made = Decoder.initialize(_config(), rng)
    values = [parameter.value for parameter in made.parameters]
    values[0] = np.full((5, 4), 1e200)
    names = [parameter.name for parameter in made.parameters]
    decoder = Decoder(_config(), map(Parameter, names, values))
    state = rng.state

    with pytest.raises(StageFailed):
        generate(decoder, [0], _request(), rng)

    assert rng.state == state
    _assert_steppable(decoder)


def test_interrupted_generation_leaves_the_generator(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[Choice] = []

    def choose_once(logits: Vector, mode: Mode, stream: SplitMix64) -> Choice:
        if chosen:
            raise KeyboardInterrupt
        chosen.append(choose(logits, mode, stream))
        return chosen[0]

    monkeypatch.setattr(engine.generation, "choose", choose_once)
    rng = SplitMix64(5)

    with pytest.raises(KeyboardInterrupt):
        generate(decoder, [0], _request(), rng)

    assert rng.state == 5
    _assert_steppable(decoder)


def test_interrupted_close_gives_the_borrows_back(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the traceback is kept, which keeps the frames and so the session."""
    close = DecoderSession.close
    closed: list[DecoderSession] = []

    def close_at_the_second_try(session: DecoderSession) -> None:
        closed.append(session)
        if len(closed) == 1:
            raise KeyboardInterrupt
        close(session)

    monkeypatch.setattr(DecoderSession, "close", close_at_the_second_try)
    rng = SplitMix64(5)

    with pytest.raises(KeyboardInterrupt):
        generate(decoder, [0], _request(), rng)

    assert rng.state == 5
    _assert_steppable(decoder)


def _assert_refused(
    decoder: Decoder,
    prompt: Sequence[int],
    request: GenerationRequest,
    error: type[Exception],
    arguments: tuple[object, ...] | None,
) -> None:
    rng = SplitMix64(5)
    before = held_by(decoder.parameters)

    with pytest.raises(error) as refusal:
        generate(decoder, prompt, request, rng)

    assert arguments is None or refusal.value.args == pytest.approx(
        arguments, nan_ok=True
    )
    assert rng.state == 5
    assert held_by(decoder.parameters) == before
    _assert_steppable(decoder)


def _assert_steppable(decoder: Decoder) -> None:
    """No borrow is left: an optimizer may replace every parameter."""
    optimizer = AdamW(
        AdamWConfig(
            learning_rate=0.1, beta1=0.9, beta2=0.9, epsilon=1.0, weight_decay=0
        )
    )
    zeros = [np.zeros_like(parameter.value) for parameter in decoder.parameters]

    assert optimizer.step(decoder.parameters, zeros) == 1
