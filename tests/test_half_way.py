"""A script goes on where its training failed half-way, whatever was planned."""

from properties.calls import (
    Bind,
    Call,
    Close,
    Decode,
    Flaw,
    NewCache,
    Prefill,
    Step,
    Train,
)
from properties.judge import Judge
from tests.judged import outcomes, script_of

FAILS: tuple[Call, ...] = (Close(), Train(tokens=(0,), targets=(0,)))
FREED: tuple[Call, ...] = (*FAILS, NewCache(), Step(flaw=Flaw(kind="subset")))
"""The step that fails leaves the next one a choice that it takes."""


def outcomes_of(*calls: Call) -> list[str]:
    return outcomes(Judge()(script_of(*calls, scale=1e100)))


def test_refusal_of_a_loss_comes_before_its_overflow() -> None:
    calls = (Close(), Train(tokens=(0,), targets=()))

    assert outcomes_of(*calls) == ["done", "TargetCountMismatch"]


def test_overflow_of_a_loss_is_foreseen() -> None:
    assert outcomes_of(*FREED) == ["done", "StageFailed", "done", "done"]


def test_cache_is_not_stale_after_a_step_that_failed() -> None:
    calls = (*FAILS, Bind(), Prefill(prompt=(0,)), Decode(token_id=1))

    assert outcomes_of(*calls) == [
        *("done", "StageFailed", "done", "StageFailed", "DecodeRequiresPrefill")
    ]


def test_cache_is_stale_after_a_step_that_was_free() -> None:
    """There the plan knows of a session that there is not."""
    assert outcomes_of(*FREED, Bind(cache=1)) == [
        *("done", "StageFailed", "done", "done", "ParameterRevisionMismatch")
    ]


def test_session_that_came_to_nothing_is_no_fault_of_the_engine() -> None:
    """It has no session to call either: what the plan took for one is none."""
    calls = (*FREED, Bind(cache=1), Prefill(cache=1, prompt=(0,)))

    assert outcomes_of(*calls)[4] == "ParameterRevisionMismatch"
