"""The abstract state graph holds what runs do, and says of all else why they do not."""

from collections.abc import Mapping
from typing import Final

import pytest

from engine import DecoderConfig, errors
from properties.calls import (
    Call,
    Close,
    Decode,
    Generate,
    Prefill,
    Sampling,
    Train,
)
from properties.floors import OUTCOMES, REACHABLE, WHY_UNREACHABLE, Census, require
from properties.graph import DONE, EDGES, HOLDS, KINDS, PHASES
from properties.judge import Judge
from properties.script import Script, Weights

CONFIG: Final = DecoderConfig(
    vocab_size=4,
    d_model=4,
    n_heads=2,
    n_kv_heads=1,
    d_ff=1,
    n_layers=1,
    capacity=4,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)

OVERFLOWING: Final[Mapping[Call, str]] = {
    Prefill(prompt=(0,)): "StageFailed",
    Generate(prompt=(0,)): "StageFailed",
    Close(): DONE,
    Train(tokens=(0,), targets=(1,)): "StageFailed",
}
BEYOND_ONE_TOKEN: Final[Mapping[Call, str]] = {
    Prefill(prompt=(2,)): DONE,
    Decode(token_id=0): "StageFailed",
}
"""At a scale where the gate lets one token's feed-forward overflow, not the other's."""
STRANGELY_ASKED: Final[Mapping[Call, str]] = {
    Generate(prompt=()): "EmptyPrompt",
    Generate(prompt=(0, 0, 0, 0, 0)): "PromptTooLong",
    Generate(prompt=(4,)): "PromptTokenOutOfRange",
    Generate(prompt=(True,)): "TypeError",
    Generate(prompt=(0,), eos_token=4): "EosTokenOutOfRange",
    Generate(
        prompt=(0,), sampling=Sampling(temperature="nan", k=1)
    ): "InvalidTemperature",
    Generate(prompt=(0,), sampling=Sampling(temperature=1.0, k=0)): "InvalidTopK",
    Generate(prompt=(0,), max_new_tokens=-1): "InvalidBudget",
}


@pytest.mark.parametrize(
    ("scale", "outcomes"),
    [(1e100, OVERFLOWING), (1e60, BEYOND_ONE_TOKEN), (1.0, STRANGELY_ASKED)],
    ids=["overflowing", "beyond one token", "strangely asked"],
)
def test_what_arithmetic_decides_is_in_the_graph(
    scale: float, outcomes: Mapping[Call, str]
) -> None:
    """The model alone knows none of these; a judge does."""
    weights = Weights(seed=2, scale=scale)
    verdict = Judge()(Script(config=CONFIG, weights=weights, calls=tuple(outcomes)))
    census = Census()
    census.record(verdict)
    require(census, {})

    assert {each.call: each.outcome for each in verdict.seen} == outcomes


def test_every_error_class_is_reachable_or_has_a_reason() -> None:
    classes = [getattr(errors, name) for name in errors.__all__]
    families = {parent for each in classes for parent in each.__bases__}
    leaves = {each.__name__ for each in classes if each not in families}
    named = {each.outcome for each in OUTCOMES} | {each[1] for each in WHY_UNREACHABLE}

    assert named == leaves | {DONE, "TypeError", "KeyboardInterrupt"}


def test_states_are_all_that_a_phase_and_a_hold_can_make() -> None:
    states = {state for edge in EDGES for state in (edge.before, edge.after)}

    assert states == {
        *(f"{phase} {hold}" for phase in PHASES for hold in HOLDS),
        "stale",
    }


def test_no_cell_is_reachable_and_unreachable() -> None:
    assert WHY_UNREACHABLE.keys() & REACHABLE == set()
    assert {cell[0] for cell in WHY_UNREACHABLE} == set(KINDS)


def test_every_kind_of_call_can_be_done_or_only_refused() -> None:
    done = {each.call for each in OUTCOMES if each.outcome == DONE}

    assert set(KINDS) - done == {"bind rebuilt", "bind changed"}
    assert {each.call for each in OUTCOMES} == set(KINDS)


def test_errors_leave_the_state() -> None:
    assert {e for e in EDGES if e.outcome != DONE and e.before != e.after} == set()
