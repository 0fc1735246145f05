"""The judge accepts what is right, says where it is wrong, and forgets between runs."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from engine import AdamWConfig, DecoderConfig, StepOutput
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
from properties.judge import Judge
from properties.laws import LAWS
from properties.script import from_json
from properties.subject import Subject
from tests.broken_answers import (
    is_full_one_row_early,
    returns_one_buffer,
    rounds_logits,
    tells_the_next_position,
)
from tests.judged import GROWS, MIXED, UP_AND_DOWN, failure_of, outcomes, script_of
from tests.models import ADAMW


def test_right_engine_breaks_no_law() -> None:
    verdict = Judge()(script_of(*MIXED))

    assert tuple(each.call for each in verdict.seen) == MIXED
    assert [each for each in outcomes(verdict) if each != "done"] == [
        "DecodeTokenOutOfRange"
    ]


def test_seen_tells_what_a_call_left() -> None:
    seen = Judge()(script_of(*GROWS, Decode(token_id=5), Reset(), Close())).seen

    assert [(each.before, each.after, each.length) for each in seen] == [
        ("empty bound", "prefilled bound", 2),
        ("prefilled bound", "prefilled bound", 3),
        ("prefilled bound", "prefilled bound", 3),
        ("prefilled bound", "empty bound", 0),
        ("empty bound", "empty unbound", 0),
    ]
    assert [each.error > 0 for each in seen] == [True, True, False, False, False]
    assert max(each.error for each in seen) < 1


def test_seen_tells_what_is_full_or_stale() -> None:
    full = Judge()(script_of(Prefill(prompt=(0, 1, 2, 3)))).seen
    stale = Judge()(script_of(Close(), Step())).seen

    assert full[0].after == "full bound"
    assert (stale[1].before, stale[1].after) == ("empty unbound", "stale")


@pytest.mark.parametrize("calls", [GROWS, MIXED])
def test_digest_is_that_of_the_script_alone(calls: tuple[Call, ...]) -> None:
    judge, script = Judge(), script_of(*calls)
    digests = {judge(script).digest, judge(script).digest, Judge()(script).digest}

    assert len(digests) == 1


def test_digest_is_another_of_another_script() -> None:
    scripts = (
        script_of(*GROWS),
        script_of(*GROWS, seed=39),  # other logits
        script_of(*GROWS, Reset()),  # another call
        script_of(*GROWS, Decode(token_id=9)),
        script_of(*GROWS, Decode(token_id=True)),  # another outcome
        script_of(*GROWS, Generate(prompt=(0,))),
        script_of(*GROWS, Generate(prompt=(0,), max_new_tokens=3)),
    )
    judge = Judge()

    assert len({judge(script).digest for script in scripts}) == len(scripts)


@pytest.mark.parametrize(
    "earlier",
    [
        pytest.param(MIXED, id="mixed"),
        pytest.param((Close(), Step()), id="step"),
        pytest.param((Prefill(prompt=(0, 1, 2, 3)),), id="whole"),
    ],
)
def test_judge_forgets_what_it_judged_before(earlier: tuple[Call, ...]) -> None:
    judge = Judge()
    judge(script_of(*earlier))

    for calls in (GROWS, UP_AND_DOWN, MIXED):
        assert judge(script_of(*calls)) == Judge()(script_of(*calls))


def test_judge_is_as_good_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    is_full_one_row_early(monkeypatch)
    judge, script = Judge(), script_of(Prefill(prompt=(0, 1)))
    before = failure_of(script, judge)

    assert outcomes(judge(script_of(Prefill(prompt=(0, 1, 2, 3))))) == ["done"]
    assert str(failure_of(script, judge)) == str(before)


def test_judge_remembers_no_broken_law(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, script = Judge(), script_of(*GROWS)
    judge(script)
    rounds_logits(monkeypatch)

    first, second = (failure_of(script, judge) for _ in range(2))
    assert str(first) == str(second)


def test_failure_says_what_where_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    tells_the_next_position(monkeypatch)
    script = script_of(Reset(), *GROWS)

    failure = failure_of(script)

    assert str(failure).splitlines()[:4] == [
        "S1 length: call 1, Prefill(prompt=(0, 1))",
        "  position and length of the answer",
        "  due    (1, 2)",
        "  came   (2, 2)",
    ]
    assert [each.call for each in failure.seen] == [Reset()]
    assert (failure.call, failure.is_closing) == (GROWS[0], False)
    assert list(failure.broken) == [LAWS["S1"]]


def test_failure_has_the_bound_of_what_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds_logits(monkeypatch)

    lines = str(failure_of(script_of(*GROWS))).splitlines()

    assert [line.split()[0] for line in lines[:5]] == [
        *("P1", "the", "due", "came", "bound"),
    ]


def test_failure_carries_a_script_that_reproduces_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds_logits(monkeypatch)
    failure = failure_of(script_of(*GROWS))
    text = str(failure)

    again = failure_of(from_json(text[text.index("{") :]))

    assert str(again) == text


def test_failure_names_every_law_that_the_call_broke(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def output(logits: Vector, *facts: int) -> StepOutput:
        return StepOutput(logits + 1, *(each + 1 for each in facts))

    monkeypatch.setattr("engine.session.StepOutput", output)

    failure = failure_of(script_of(*GROWS))

    assert str(failure).startswith("S1 length (also P1, C2): call 0, ")


def test_laws_that_are_not_asked_are_not_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds_logits(monkeypatch)
    script = script_of(*GROWS)

    for law in LAWS.values():
        judge = Judge(laws=(law,))
        if law.id == "P1":
            assert list(failure_of(script, judge).broken) == [law]
        else:
            assert outcomes(judge(script)) == ["done", "done"]


def test_earlier_answers_are_compared_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    returns_one_buffer(monkeypatch)

    failure = failure_of(script_of(Prefill(prompt=(0,))))

    assert failure.is_closing
    assert len(failure.seen) == 1
    assert "S5 isolation: a call of the judge, Decode(token_id=0)" in str(failure)
    assert "the logits of answer 0, at the end of the run" in str(failure)


def test_judge_remembers_configurations_apart() -> None:
    judge, script = Judge(), script_of(*GROWS)
    other = script.model_copy(update={"config": replace(CONFIG, rms_epsilon=0.5)})
    judge(script)

    assert judge(other) == Judge()(other)


def test_judge_makes_an_engine_a_script_once_all_is_remembered() -> None:
    made = list[Subject]()

    def make(
        config: DecoderConfig, weights: Mapping[str, Array], optimizer: AdamWConfig
    ) -> Subject:
        made.append(BuiltIn(config, weights, optimizer))
        return made[-1]

    judge, script = Judge(make), script_of(*GROWS)
    judge(script)
    made.clear()
    judge(script)

    assert len(made) == 1


def test_engine_has_the_optimizer_of_the_script() -> None:
    calls = (Close(), Step(), NewCache(), Bind(cache=1), Prefill(cache=1, prompt=(0,)))
    script = script_of(*calls)
    other = script.model_copy(update={"optimizer": ADAMW})

    assert Judge()(other).digest != Judge()(script).digest
