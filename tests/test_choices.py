"""Which choices of a generation rounding cannot decide."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from engine import (
    EmptyPrompt,
    GenerationRequest,
    GenerationStep,
    Greedy,
    PromptTokenOutOfRange,
    SplitMix64,
    TopK,
    generate,
)
from engine.arrays import Array
from properties.built_in import BuiltIn
from properties.calls import Generate, Sampling
from properties.choices import due_generation, margin, request_of
from properties.drawn import initial_weights
from properties.oracle import Oracle
from properties.replayed import Replayed
from properties.script import Weights
from reference.replay import Rows
from tests.models import TINY, decoder_with
from tests.replayed import counted_replays

WEIGHTS: Final = initial_weights(TINY, Weights(seed=38))
LOGITS: Final = np.array([1.0, 4.0, 2.0])


def oracle_of(weights: Mapping[str, Array] = WEIGHTS) -> Oracle:
    return Oracle(BuiltIn, TINY, weights)


def asked(mode: Greedy | TopK) -> GenerationRequest:
    return GenerationRequest(mode=mode, eos_token=None, max_new_tokens=1)


def top(k: int) -> GenerationRequest:
    return asked(TopK(temperature=1.0, k=k))


def drawn(draw: float | None, start: float = 0.25, end: float = 0.5) -> GenerationStep:
    return GenerationStep(1, 0, draw, start, end)


def test_margin_of_the_highest_logit_is_that_to_the_second() -> None:
    step = drawn(None, 0.0, 1.0)

    assert margin(LOGITS, asked(Greedy()), step, bound=9.0) == 2


@pytest.mark.parametrize(("k", "gap"), [(1, 2), (2, 1), (3, np.inf)])
def test_margin_of_k_is_that_to_the_next(k: int, gap: float) -> None:
    assert margin(LOGITS, top(k), drawn(0.375), bound=0.1) == gap


@pytest.mark.parametrize("draw", [0.25, 0.26, 0.49])
def test_margin_of_a_draw_near_an_edge_is_none(draw: float) -> None:
    assert margin(LOGITS, top(2), drawn(draw), bound=0.0625) == 0


@pytest.mark.parametrize(
    ("draw", "step"), [(0.001, (0.0, 0.5)), (0.999, (0.5, 1.0)), (0.0, (0.0, 1.0))]
)
def test_no_rounding_moves_the_ends_of_all_intervals(
    draw: float, step: tuple[float, float]
) -> None:
    assert margin(LOGITS, top(2), drawn(draw, *step), bound=0.0625) == 1


def test_one_token_has_no_other_choice() -> None:
    step = drawn(None, 0.0, 1.0)

    assert margin(np.array([1.0]), asked(Greedy()), step, bound=0.0) == np.inf


@pytest.mark.parametrize(
    ("k", "bound", "gap"),
    [
        *((1, 1.0, 3.0), (2, 1.0, 2.0), (3, 1.0, 2.0), (4, 1.0, 2.0)),
        *((1, 0.99, 3.0), (2, 0.99, 2.0), (3, 0.99, 4.0), (4, 0.99, np.inf)),
    ],
)
def test_margin_is_the_least_gap_where_the_order_decides_everything(
    k: int, bound: float, gap: float
) -> None:
    """Down to the k-th: each share is 1 or 0 there, and else moves by little."""
    logits = np.array([0.0, 6.0, 9.0, 4.0])
    step = drawn(0.5, 0.0, 1.0)

    assert margin(logits, top(k), step, bound) == gap


def test_margin_counts_the_second_best_where_the_heat_is_nothing() -> None:
    logits = np.array([1.0, np.nextafter(1.0, 2.0)])
    request = asked(TopK(temperature=1e-300, k=2))

    gap = margin(logits, request, drawn(0.5, 0.0, 1.0), bound=np.inf)

    assert gap == np.diff(logits)


def test_request_is_what_the_call_asks_for() -> None:
    plain = Generate(prompt=(0,), eos_token=2, max_new_tokens=3)
    sampled = Generate(prompt=(0,), sampling=Sampling(temperature="inf", k=2))

    assert request_of(plain) == GenerationRequest(
        mode=Greedy(), eos_token=2, max_new_tokens=3
    )
    assert request_of(sampled).mode == TopK(temperature=np.inf, k=2)


CALL: Final = Generate(
    prompt=(0,),
    sampling=Sampling(temperature=0.5, k=2),
    max_new_tokens=3,
    rng_state=7,
)


def test_due_generation_is_the_engines() -> None:
    rng = SplitMix64(7)
    made = generate(decoder_with(TINY, WEIGHTS), [0], request_of(CALL), rng)

    due = due_generation(oracle_of().replay, TINY, CALL, (0, *made.generated[:-1]))

    assert due.generation.generated == made.generated
    assert (due.state, due.n_sure, due.steps) == (rng.state, 3, due.generation.steps)


def test_bound_of_an_interval_grows_as_the_heat_falls() -> None:
    cold = CALL.model_copy(update={"sampling": Sampling(temperature=0.25, k=2)})
    one = cold.model_copy(
        update={"sampling": Sampling(temperature=1.0, k=2), "max_new_tokens": 1}
    )
    read = Replayed.of(TINY, WEIGHTS, (0,)).due.logits(1)

    due = due_generation(oracle_of().replay, TINY, one, (0,))
    colder = due_generation(oracle_of().replay, TINY, cold, (0,))

    assert due.interval_bound > 2 * read.bound.max()
    assert 2 * due.interval_bound < colder.interval_bound < 1e-11


def test_first_choice_that_rounding_decides_ends_what_is_sure() -> None:
    """The second choice's logits are level; those around it are sure."""
    clear, level = np.array([1.0, 2.0, 0.0]), np.array([1.0, 1.0 + 1e-15, 0.0])

    class Level(Oracle):
        def replay(self, history: tuple[int, ...], ahead: tuple[int, ...]) -> Replayed:
            known = super().replay(history, ahead)
            rows: Rows = np.stack([clear, level, clear][: len(history)])
            return replace(known, replay=replace(known.replay, logits=rows))

    due = due_generation(
        Level(BuiltIn, TINY, WEIGHTS).replay,
        TINY,
        Generate(prompt=(0,), max_new_tokens=3),
        (0,),
    )

    assert (len(due.steps), due.n_sure) == (3, 1)


def test_nothing_asked_is_nothing_unsure() -> None:
    call = Generate(prompt=(0,), max_new_tokens=0, rng_state=3)

    due = due_generation(oracle_of().replay, TINY, call, (0,))

    assert (due.steps, due.n_sure, due.state, due.interval_bound) == ((), 0, 3, 0)


@pytest.mark.parametrize(
    "guess", [(), (0, 9), (0, -1), (0, 0, 0, 0, 0), (1,), (0, 1, 1)]
)
def test_wrong_guess_changes_nothing(guess: tuple[int, ...]) -> None:
    right = due_generation(oracle_of().replay, TINY, CALL, (0,))

    due = due_generation(oracle_of().replay, TINY, CALL, guess)

    assert (due.generation.generated, due.n_sure) == (
        right.generation.generated,
        right.n_sure,
    )


def test_right_guess_is_replayed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed = counted_replays(monkeypatch)
    first = due_generation(oracle_of().replay, TINY, CALL, (0,)).generation
    replayed.clear()
    guess = (0, *first.generated[:-1])
    due_generation(oracle_of().replay, TINY, CALL, guess)

    assert replayed == [guess]


@pytest.mark.parametrize(
    ("prompt", "error"), [((), EmptyPrompt), ((3,), PromptTokenOutOfRange)]
)
def test_refusal_that_is_due_is_raised(
    prompt: tuple[int, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        due_generation(oracle_of().replay, TINY, Generate(prompt=prompt), prompt)
