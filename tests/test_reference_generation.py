"""Generation on both paths: what is refused in which order, and who draws."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from engine import (
    Decoder,
    DecoderConfig,
    EmptyPrompt,
    EosTokenOutOfRange,
    GenerationRequest,
    Greedy,
    InvalidBudget,
    InvalidTemperature,
    InvalidTopK,
    Parameter,
    PromptTokenOutOfRange,
    PromptTooLong,
    SplitMix64,
    StageFailed,
    TopK,
    generate,
)
from tests.golden_refusals import Refusal, refusal_by
from tests.replayed import Generate, replayed_generation

EACH_PATH = pytest.mark.parametrize("path", [generate, replayed_generation])
STATE = 0x9E3779B97F4A7C38
CONFIG = DecoderConfig(
    vocab_size=5,
    d_model=4,
    n_heads=2,
    n_kv_heads=1,
    d_ff=3,
    n_layers=1,
    capacity=4,
    rope_base=10.0,
    rms_epsilon=1e-6,
)
DECODER = Decoder.initialize(CONFIG, SplitMix64(38))
WRONG = GenerationRequest(
    mode=TopK(temperature=0.0, k=0), eos_token=5, max_new_tokens=-1
)
VALID = GenerationRequest(
    mode=TopK(temperature=0.7, k=3), eos_token=None, max_new_tokens=9
)


@EACH_PATH
@pytest.mark.parametrize(
    ("prompt", "request_", "refusal"),
    [
        ([], WRONG, (EmptyPrompt, {})),
        ([9] * 5, WRONG, (PromptTooLong, {"n_tokens": 5, "capacity": 4})),
        (
            [0, 9, -1],
            WRONG,
            (PromptTokenOutOfRange, {"position": 1, "token_id": 9, "vocab_size": 5}),
        ),
        ([0], WRONG, (EosTokenOutOfRange, {"token_id": 5, "vocab_size": 5})),
        (
            [0],
            replace(WRONG, eos_token=-1),
            (EosTokenOutOfRange, {"token_id": -1, "vocab_size": 5}),
        ),
        ([0], replace(WRONG, eos_token=4), (InvalidTemperature, {"value": 0.0})),
        (
            [0],
            replace(WRONG, eos_token=None, mode=TopK(temperature=0.1, k=0)),
            (InvalidTopK, {"k": 0, "vocab_size": 5}),
        ),
        (
            [0],
            replace(WRONG, eos_token=None, mode=TopK(temperature=0.1, k=6)),
            (InvalidTopK, {"k": 6, "vocab_size": 5}),
        ),
        ([0], replace(VALID, max_new_tokens=-1), (InvalidBudget, {"value": -1})),
        (
            [0],
            replace(WRONG, eos_token=None, mode=Greedy()),
            (InvalidBudget, {"value": -1}),
        ),
    ],
)
def test_generation_is_refused_by_the_first_check_that_fails(
    path: Generate, prompt: list[int], request_: GenerationRequest, refusal: Refusal
) -> None:
    rng = SplitMix64(STATE)

    assert refusal_by(lambda: path(DECODER, prompt, request_, rng)) == refusal
    assert rng.state == STATE


@EACH_PATH
@pytest.mark.parametrize(
    "temperature", [0, -0.0, -1.5, math.inf, -math.inf, 10**400, True, Fraction(-1, 3)]
)
def test_temperature_must_be_finite_and_above_zero(
    path: Generate, temperature: float
) -> None:
    mode = TopK(temperature=temperature, k=9)
    refusal = (InvalidTemperature, {"value": temperature})
    rng = SplitMix64(STATE)

    assert (
        refusal_by(lambda: path(DECODER, [0], replace(VALID, mode=mode), rng))
        == refusal
    )
    assert rng.state == STATE


@EACH_PATH
def test_temperature_must_be_a_number(path: Generate) -> None:
    mode = TopK(temperature=math.nan, k=3)

    with pytest.raises(InvalidTemperature, match="nan"):
        path(DECODER, [0], replace(VALID, mode=mode), SplitMix64(STATE))


@EACH_PATH
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("eos_token", True),
        ("eos_token", 1.0),
        ("temperature", "1"),
        ("temperature", None),
        ("temperature", 1j),
        ("temperature", Decimal(1)),
        ("k", 2.0),
        ("k", True),
        ("max_new_tokens", True),
        ("max_new_tokens", 1.0),
        ("max_new_tokens", None),
    ],
)
def test_request_of_another_type_is_a_type_error(
    path: Generate, field: str, value: object
) -> None:
    rng = SplitMix64(STATE)
    request = replace(VALID, mode=TopK(temperature=0.7, k=3))
    owner = request.mode if field in {"temperature", "k"} else request
    object.__setattr__(owner, field, value)

    with pytest.raises(TypeError):
        path(DECODER, [0], request, rng)
    assert rng.state == STATE


@EACH_PATH
@pytest.mark.parametrize("temperature", [1, np.float32(0.5), Fraction(1, 3), 5e-324])
def test_temperature_may_be_any_real_number(path: Generate, temperature: float) -> None:
    mode = TopK(temperature=temperature, k=3)

    generation = path(DECODER, [0], replace(VALID, mode=mode), SplitMix64(STATE))

    assert len(generation.generated) == 4


@EACH_PATH
def test_failed_generation_leaves_the_generator(path: Generate) -> None:
    """Only token 4 has no finite row, and it is the one that is chosen and decoded."""
    first, *others = DECODER.parameters
    table = first.value.copy()
    table[4] = 1e200
    poisoned = Parameter(first.name, table)
    decoder = Decoder.from_parameters(CONFIG, [poisoned, *others])
    rng = SplitMix64(STATE)

    with pytest.raises(StageFailed):
        path(decoder, [0], VALID, rng)
    assert rng.state == STATE


@EACH_PATH
def test_generation_without_a_budget_does_no_work(path: Generate) -> None:
    rng = SplitMix64(STATE)

    generation = path(DECODER, [0, 1], replace(VALID, max_new_tokens=0), rng)

    assert rng.state == STATE
    assert generation.prompt == (0, 1)
    assert (generation.generated, generation.steps) == ((), ())
    assert (generation.stop, generation.final_length) == ("token-limit", 0)
    assert generation.work.layer_caches == 1
    assert generation.work.prefill_tokens == 0


@EACH_PATH
@pytest.mark.parametrize(
    ("eos", "budget", "stop"),
    [(True, 1, "eos"), (False, 1, "token-limit"), (False, 2, "context-limit")],
)
def test_generation_stops_for_eos_then_budget_then_context(
    path: Generate, *, eos: bool, budget: int, stop: str
) -> None:
    """All three ends meet after the prompt, which fills the context."""
    prompt, rng = [0, 1, 2, 3], SplitMix64(STATE)
    request = GenerationRequest(mode=Greedy(), eos_token=None, max_new_tokens=budget)
    (chosen,) = path(DECODER, prompt, request, rng).generated
    request = replace(request, eos_token=chosen if eos else None)

    generation = path(DECODER, prompt, request, rng)

    assert generation.stop == stop
    assert generation.final_length == 4


@EACH_PATH
def test_greedy_takes_the_lowest_of_equals_and_draws_nothing(path: Generate) -> None:
    first, *others = DECODER.parameters
    table = np.repeat(first.value[:1], CONFIG.vocab_size, axis=0)
    decoder = Decoder.from_parameters(CONFIG, [Parameter(first.name, table), *others])
    rng = SplitMix64(STATE)

    generation = path(decoder, [3], replace(VALID, mode=Greedy()), rng)

    assert generation.generated == (0, 0, 0, 0)
    assert rng.state == STATE
    assert {
        (step.unit_draw, step.interval_start, step.interval_end)
        for step in generation.steps
    } == {(None, 0.0, 1.0)}


@EACH_PATH
def test_one_candidate_is_drawn_all_the_same(path: Generate) -> None:
    rng, drawn = SplitMix64(STATE), SplitMix64(STATE)

    generation = path(
        DECODER, [0], replace(VALID, mode=TopK(temperature=2.0, k=1)), rng
    )

    assert [step.unit_draw for step in generation.steps] == list(drawn.units(4))
    assert rng.state == drawn.state
