"""What generation refuses, what it fails of, and that neither leaves a trace."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import engine.generation
from engine.arrays import Vector
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
from engine.parameters import Parameter, held_by
from engine.request import GenerationRequest, Greedy, Mode, TopK
from engine.sampling import Choice, choose
from engine.session import DecoderSession
from engine.splitmix import SplitMix64
from tests.models import REQUEST, decoder_of, step_once
from tests.replayed import small_config

CONFIG = small_config(n_layers=2, n_heads=2, n_kv_heads=2)


@pytest.fixture
def decoder() -> Decoder:
    return decoder_of(CONFIG)


# What must be refused, leaving no trace. Every case has all the later faults too.

WRONG = replace(REQUEST, mode=TopK(temperature=0, k=0), eos_token=5, max_new_tokens=-1)
LATER = replace(WRONG, eos_token=4)
"""Wrong from the mode on."""


def _top(k: int) -> TopK:
    return TopK(temperature=1, k=k)


_REFUSED = {
    "empty": ([], WRONG, EmptyPrompt, ()),
    "long": ([5] * 5, WRONG, PromptTooLong, (5, 4)),
    "token": ([0, 5, True], WRONG, PromptTokenOutOfRange, (1, 5, 5)),
    "token_type": ([0, True, 5], WRONG, TypeError, None),
    "eos": ([0], WRONG, EosTokenOutOfRange, (5, 5)),
    "eos_negative": ([0], replace(WRONG, eos_token=-1), EosTokenOutOfRange, (-1, 5)),
    "eos_type": ([0], replace(WRONG, eos_token=False), TypeError, None),
    "k": ([0], replace(LATER, mode=_top(0)), InvalidTopK, (0, 5)),
    "k_large": ([0], replace(LATER, mode=_top(6)), InvalidTopK, (6, 5)),
    "k_type": ([0], replace(LATER, mode=_top(k=True)), TypeError, None),
    "budget": ([0], replace(LATER, mode=Greedy()), InvalidBudget, (-1,)),
    "budget_type": (
        [0],
        replace(LATER, mode=Greedy(), max_new_tokens=True),
        TypeError,
        None,
    ),
}


@pytest.mark.parametrize("case", _REFUSED)
def test_generation_refuses(decoder: Decoder, case: str) -> None:
    prompt, request, error, arguments = _REFUSED[case]

    _assert_refused(decoder, prompt, request, error, arguments)


@pytest.mark.parametrize("value", [0, -1.0, True, np.nan, np.inf, -np.inf, 10**400])
def test_generation_refuses_the_temperature(decoder: Decoder, value: float) -> None:
    request = replace(LATER, mode=TopK(temperature=value, k=0))

    _assert_refused(decoder, [0], request, InvalidTemperature, (value,))


def test_generation_refuses_a_temperature_that_no_float_can_hold(
    decoder: Decoder,
) -> None:
    tiny = Fraction(1, 10**400)
    request = replace(LATER, mode=TopK(temperature=tiny, k=0))  # type: ignore[arg-type] # any real number will do

    _assert_refused(decoder, [0], request, InvalidTemperature, (tiny,))


@pytest.mark.parametrize("value", ["1", None, 1j, Decimal(1), [1.0]])
def test_generation_refuses_a_temperature_that_is_no_number(
    decoder: Decoder, value: float
) -> None:
    request = replace(LATER, mode=TopK(temperature=value, k=0))

    _assert_refused(decoder, [0], request, TypeError, None)


@pytest.mark.parametrize("mode", ["greedy", None, TopK, Greedy])
def test_generation_refuses_another_mode(decoder: Decoder, mode: Mode) -> None:
    _assert_refused(decoder, [0], replace(LATER, mode=mode), TypeError, None)


def test_failed_generation_leaves_the_generator() -> None:
    rng = SplitMix64(5)
    made = Decoder.initialize(CONFIG, rng)
    values = [parameter.value for parameter in made.parameters]
    values[0] = np.full((5, 4), 1e200)
    names = [parameter.name for parameter in made.parameters]
    decoder = Decoder(CONFIG, map(Parameter, names, values))
    state = rng.state

    with pytest.raises(StageFailed):
        generate(decoder, [0], REQUEST, rng)

    assert rng.state == state
    step_once(decoder)


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
        generate(decoder, [0], REQUEST, rng)

    assert rng.state == 5
    step_once(decoder)


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
        generate(decoder, [0], REQUEST, rng)

    assert rng.state == 5
    step_once(decoder)


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
    step_once(decoder)
