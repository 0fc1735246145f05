"""Tokens and prompts of every kind, and each kind is what it is called."""

from collections.abc import Callable
from random import Random
from typing import Final, TypeVar

import pytest

from engine import DecoderConfig, errors
from properties.calls import Prefill, Token
from properties.drawn import initial_weights
from properties.geometry import (
    any_prompt,
    bad_prompts,
    good_prompt,
    strange_token,
    token,
)
from properties.model import Model
from properties.script import Weights

T = TypeVar("T")

CONFIG: Final = DecoderConfig(
    vocab_size=3,
    d_model=8,
    n_heads=2,
    n_kv_heads=1,
    d_ff=5,
    n_layers=2,
    capacity=5,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)


def seeded(make: Callable[[Random, DecoderConfig], T]) -> list[T]:
    return [make(Random(seed), CONFIG) for seed in range(500)]  # noqa: S311 # chooses tokens, keeps nothing secret


def test_tokens_are_all_of_the_vocabulary() -> None:
    assert set(seeded(token)) == {0, 1, 2}


def test_strange_tokens_are_beside_the_vocabulary_or_no_integers() -> None:
    drawn = {repr(each) for each in seeded(strange_token)}

    assert drawn == {"-1", "3", f"{2**64}", f"{-(2**63)}", "True", "False"}


def test_good_prompts_are_of_one_token_two_many_and_the_capacity() -> None:
    prompts = seeded(good_prompt)

    assert {len(prompt) for prompt in prompts} == {1, 2, 3, CONFIG.capacity}
    assert {each for prompt in prompts for each in prompt} == {0, 1, 2}


def test_good_prompts_have_two_distinct_tokens_mostly() -> None:
    long = [prompt for prompt in seeded(good_prompt) if len(prompt) > 2]

    assert sum(len(set(prompt)) > 1 for prompt in long) >= 0.8 * len(long)


@pytest.mark.parametrize(
    ("kind", "refusals"),
    [
        (0, {"EmptyPrompt"}),
        (1, {"PromptTooLong"}),
        (2, {"PromptTokenOutOfRange", "TypeError"}),
        (3, {"TypeError"}),
    ],
)
def test_bad_prompts_are_refused(kind: int, refusals: set[str]) -> None:
    drawn = [prompts[kind] for prompts in seeded(bad_prompts)]

    assert {refusal_of(prompt) for prompt in drawn} == refusals


def test_bad_prompts_are_one_token_too_long_or_more() -> None:
    assert {len(prompts[1]) for prompts in seeded(bad_prompts)} == {6, 14}


def test_any_prompts_are_good_and_bad() -> None:
    answers = {refusal_of(prompt) for prompt in seeded(any_prompt)}

    assert answers == {
        "",
        "EmptyPrompt",
        "PromptTooLong",
        "PromptTokenOutOfRange",
        "TypeError",
    }


def refusal_of(prompt: tuple[Token, ...]) -> str:
    model = Model(CONFIG, initial_weights(CONFIG, Weights(seed=1)))
    try:
        model.perform(Prefill(prompt=prompt))
    except (errors.RequestError, TypeError) as refusal:
        return type(refusal).__name__
    return ""
