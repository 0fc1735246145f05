"""What the judge adds to a script, and what it foresees of one."""

from dataclasses import replace

import numpy as np
import pytest

from engine import AdamWConfig, EngineError, StepOutput
from engine.adamw import adamw_update
from engine.arrays import Array, Vector
from properties.built_in import BuiltIn
from properties.calls import (
    Bind,
    Call,
    Close,
    Decode,
    Generate,
    NewCache,
    Prefill,
    Reset,
    Step,
)
from properties.chapter import CONFIG
from properties.judge import Judge, PropertyFailed
from properties.laws import LAWS
from properties.script import Script, ScriptRejected, Weights
from tests.broken_answers import (
    chooses_the_second_best,
    decodes_in_another_order,
)
from tests.judged import GROWS, closing, failure_of, outcomes, script_of
from tests.replayed import counted_replays
from tests.witness import ULP


@pytest.mark.parametrize(
    ("calls", "due"),
    [
        ((), ["prefill", "decode", "decode"]),
        ((Prefill(prompt=(0,)),), ["decode", "decode"]),
        ((Close(),), ["bind", "prefill", "decode", "decode"]),
        ((*GROWS, Close()), ["bind", "decode", "decode"]),
        ((NewCache(),), [*("prefill", "decode", "decode"), *("bind", "prefill")]),
    ],
)
def test_every_cache_is_closed_by_two_decodes(
    calls: tuple[Call, ...], due: list[str]
) -> None:
    verdict = Judge()(script_of(*calls))
    made = [call for call, outcome in closing(verdict) if outcome != "SessionClosed"]

    assert made[: len(due)] == due
    assert len(verdict.seen) == len(calls)


def test_closing_decodes_find_what_comes_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decodes_in_another_order(monkeypatch)

    failure = failure_of(script_of(Prefill(prompt=(0,))))

    assert failure.is_closing
    assert str(failure).startswith("P3 split: a call of the judge, Decode(token_id=0)")


OWN = [
    pytest.param((Decode(token_id=0), Reset()), "DecodeRequiresPrefill", id="refusal"),
    pytest.param((*GROWS, Reset(), Close()), "DecodeRequiresPrefill", id="reset"),
    pytest.param((Close(), Reset()), "SessionClosed", id="closed"),
    pytest.param((*GROWS, Close(), Reset()), "SessionClosed", id="closed with room"),
    pytest.param(
        (Prefill(prompt=(0, 1, 2, 3)), Prefill(prompt=(0,))), "CacheFull", id="full"
    ),
]


@pytest.mark.parametrize(("calls", "due"), OWN)
def test_refusal_and_reset_are_followed_by_a_decode_of_the_judges(
    calls: tuple[Call, ...], due: str
) -> None:
    assert closing(Judge()(script_of(*calls)))[0] == ("decode", due)


def test_decode_of_the_scripts_needs_none_of_the_judges() -> None:
    calls = (Decode(token_id=0), *GROWS, Decode(token_id=9), Decode(token_id=2))

    assert closing(Judge()(script_of(*calls))) == 2 * [("decode", "CacheFull")]


def test_call_that_names_nothing_is_rejected_by_its_index() -> None:
    script = script_of(*GROWS, Bind(cache=1))

    with pytest.raises(ScriptRejected) as rejection:
        Judge()(script)

    assert str(rejection.value) == "call 2, Bind(cache=1): there is no cache 1"


LEVEL = 1e-200  # all logits are zero
NARROW = replace(CONFIG, vocab_size=4, n_kv_heads=1, d_ff=1, n_layers=1)


def overflowing(*calls: Call) -> Script:
    return Script(config=NARROW, weights=Weights(seed=0, scale=1e60), calls=calls)


def test_overflow_half_way_is_foreseen() -> None:
    verdict = Judge()(overflowing(Prefill(prompt=(0,)), Decode(token_id=1)))

    assert outcomes(verdict) == ["done", "done"]
    assert closing(verdict) == [("decode", "StageFailed"), ("decode", "done")]


def test_what_comes_before_an_overflow_is_judged_by_its_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decodes_in_another_order(monkeypatch)

    failure = failure_of(overflowing(Prefill(prompt=(0,)), Decode(token_id=1)))

    assert str(failure).startswith("P3 split: call 1, ")


def test_rows_outside_the_prefix_are_fouled_whenever_they_may_be_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fouled = list[tuple[int, str]]()

    def foul(subject: BuiltIn, cache: int, value: float) -> None:
        del subject
        fouled.append((cache, str(value)))

    calls = (*GROWS, Reset(), Prefill(prompt=(0,)), NewCache())
    judge = Judge(laws=(LAWS["P1"],))
    monkeypatch.setattr(BuiltIn, "foul", foul)
    judge(script_of(*calls))
    overflow = overflowing(Prefill(prompt=(0, 1, 3)))
    judge(overflow)

    assert fouled == [*((0, "nan"), (0, "nan"), (1, "nan")), *2 * [(0, "nan")]]


def test_overflow_of_a_prompt_leaves_it_empty() -> None:
    calls = (
        Prefill(prompt=(0, 1, 3)),
        Decode(token_id=0),
        Prefill(prompt=(0,)),
        Decode(token_id=1),
    )

    assert outcomes(Judge()(overflowing(*calls))) == [
        *("StageFailed", "DecodeRequiresPrefill"),
        *("done", "done"),
    ]


def test_generation_that_rounding_decides_is_counted() -> None:
    call = Generate(prompt=(0,), max_new_tokens=3)

    assert Judge()(script_of(call)).n_unsure == 0
    assert Judge()(script_of(call, call, scale=LEVEL)).n_unsure == 2


def test_generation_is_judged_by_its_own_logits_where_rounding_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chooses_the_second_best(monkeypatch)
    call = Generate(prompt=(0,), max_new_tokens=3)

    assert list(failure_of(script_of(call, scale=LEVEL)).broken) == [LAWS["P6"]]
    assert list(failure_of(script_of(call)).broken) == [LAWS["P6"]]


def test_logits_may_be_in_another_order_where_rounding_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bound there is larger than the last one, which is then the highest."""

    def output(logits: Vector, *facts: int) -> StepOutput:
        return StepOutput(logits + 5e-324 * np.arange(len(logits)), *facts)

    monkeypatch.setattr("engine.session.StepOutput", output)
    call = Generate(prompt=(0,), max_new_tokens=3)

    assert Judge()(script_of(call, scale=LEVEL)).n_unsure == 1


def test_refusals_alone_end_no_run() -> None:
    calls = (Prefill(prompt=()), Decode(token_id=0), Prefill(prompt=(9,)))
    seen = Judge()(script_of(*calls)).seen

    assert {each.error for each in seen} == {0.0}
    assert not any(each.outcome == "done" for each in seen)
    assert issubclass(PropertyFailed, AssertionError)
    assert not issubclass(PropertyFailed, EngineError)


def test_rounding_of_a_step_is_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is off by a bit is right, and what is computed from it is, too."""

    def update(
        config: AdamWConfig,
        powers: tuple[float, float],
        weight: Array,
        moments: tuple[Array, Array],
        gradient: Array,
    ) -> tuple[Array, Array, Array]:
        value, *new = adamw_update(config, powers, weight, moments, gradient)
        return value * ULP, new[0], new[1]

    monkeypatch.setattr("engine.optimizer.adamw_update", update)
    calls = (Close(), Step(), NewCache(), Bind(cache=1), Prefill(cache=1, prompt=(0,)))

    assert outcomes(Judge()(script_of(*calls))) == 5 * ["done"]


def test_generation_is_replayed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed = counted_replays(monkeypatch)
    Judge()(script_of(Generate(prompt=(1,), max_new_tokens=3)))

    assert [len(tokens) for tokens in replayed if tokens[0] == 1] == [3]
