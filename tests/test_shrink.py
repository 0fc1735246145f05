"""A script that fails is shrunk until nothing can go or get less."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from engine.arrays import DType, Rotation
from engine.layers import rotation
from properties.calls import (
    Bind,
    Call,
    Close,
    Decode,
    Generate,
    NewCache,
    NewDecoder,
    Prefill,
    Reset,
)
from properties.chapter import CONFIG
from properties.failures import kept
from properties.hunting import hunt
from properties.judge import Judge, PropertyFailed, Verdict
from properties.plugin import PROFILES
from properties.script import Script, ScriptRejected, from_json, to_json
from properties.shrink import is_minimal, shrunk
from tests.broken_answers import (
    nudges_after_a_refusal,
    nudges_the_first_cache_ever,
    rotates_one_further,
    zeroes_rows_in_a_reset,
)
from tests.broken_calls import counts_past_its_limit
from tests.broken_failures import nudges_after_a_failure
from tests.judged import failure_of, script_of
from tests.planned import fault
from tests.test_laws import MORE, WITNESSES
from tests.witness import Patch, Witness

UNNEEDED: tuple[Call, ...] = (Generate(prompt=(0, 1)), NewDecoder(rebuilt=(0,)))
NOISE: tuple[Call, ...] = (Bind(), Decode(token_id=9), Close(), Bind(), Bind())
MAX_CALLS = 6


def noisy(script: Script) -> Script:
    """With calls in between that nothing needs."""
    calls, faults = list[Call](), []
    planned = {each.call: each for each in script.faults}
    for index, call in enumerate(script.calls):
        calls += UNNEEDED
        if index in planned:
            update = {"call": len(calls)}
            faults.append(planned[index].model_copy(update=update))
        calls.append(call)
    update_all = {"calls": (*calls, *UNNEEDED), "faults": tuple(faults)}
    return script.model_copy(update=update_all)


def with_one_less(script: Script) -> Iterator[Script]:
    """With any one number nearer to 0, or any one thing of any list left out."""
    for text in one_less(json.loads(to_json(script)), ""):
        try:
            yield from_json(json.dumps(text))
        except ScriptRejected:
            continue


def one_less(value: object, name: str) -> Iterator[object]:
    match value:
        case bool():
            yield from (False,) * value
        case int() if name not in {"version", "seed", "rng_state"} and value:
            yield value - (1 if value > 0 else -1)
        case list():
            for index, each in enumerate(value):
                yield value[:index] + value[index + 1 :]
                for less in one_less(each, name):
                    yield [*value[:index], less, *value[index + 1 :]]
        case dict():
            for key, each in value.items():
                for less in one_less(each, key):
                    yield {**value, key: less}
        case _:
            pass


def law_of(script: Script, judge: Judge) -> str:
    try:
        judge(script)
    except PropertyFailed as failure:
        return failure.law.id
    except ValueError:
        return "no script"
    return "none"


@pytest.mark.parametrize(
    "witness", [*WITNESSES, *MORE], ids=lambda each: each.breaks.__name__
)
def test_shrunk_script_is_short_and_minimal(
    witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def new_judge() -> Judge:
        monkeypatch.undo()  # what an engine has in mind is forgotten
        witness.breaks(monkeypatch)
        return Judge()

    failure = failure_of(noisy(witness.script), new_judge())
    small = shrunk(failure, new_judge)
    laws = {law_of(each, new_judge()) for each in with_one_less(small.script)}

    assert small.law == failure.law
    assert len(small.script.calls) <= min(MAX_CALLS, len(witness.calls))
    assert is_minimal(small, new_judge)
    assert failure.law.id not in laws


@pytest.mark.parametrize(
    ("breaks", "needed"),
    [
        (rotates_one_further, ()),  # the judge's own prompt shows it
        (zeroes_rows_in_a_reset, (Reset(),)),
    ],
)
def test_shrunk_script_has_what_is_needed(
    breaks: Patch, needed: tuple[Call, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)
    calls = (*NOISE, Prefill(prompt=(0, 1)), *NOISE, *needed, *NOISE)

    assert shrunk(failure_of(script_of(*calls)), Judge).script.calls == needed


def test_faults_move_with_their_calls_and_others_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nudges_after_a_failure(monkeypatch)
    start, decode = Prefill(prompt=(0, 1)), Decode(token_id=2)
    calls = (*NOISE, start, start, decode, decode, *NOISE)
    faults = fault(len(NOISE), 3), fault(len(NOISE) + 2, 9)

    failure = shrunk(failure_of(script_of(*calls, faults=faults)), Judge)

    assert failure.law.id == "A2"
    assert failure.script.calls == (Prefill(prompt=(0,)), Decode(token_id=0))
    assert failure.script.faults == (fault(1, 0),)


def test_counter_shrinks_to_where_it_overflows(monkeypatch: pytest.MonkeyPatch) -> None:
    counts_past_its_limit(monkeypatch)
    full = 2**64 - 1
    calls = NewCache(work=(full,) * 6), Bind(cache=1), Prefill(cache=1, prompt=(0, 1))

    (made,) = shrunk(failure_of(script_of(*calls)), Judge).script.calls

    assert isinstance(made, NewCache)
    assert sorted(made.work)[:-1] == [0, 0, 0, 0, 0]
    assert full - 12 < max(made.work) < full


def test_long_prompt_keeps_the_length_that_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def narrow(position: int, head_dim: int, base: float, dtype: DType) -> Rotation:
        return rotation(position % 8, head_dim, base, dtype)

    monkeypatch.setattr("engine.row.rotation", narrow)
    update = {"config": replace(CONFIG, capacity=14)}
    script = script_of(Prefill(prompt=(0, 1, 2) * 4)).model_copy(update=update)

    failure = shrunk(failure_of(script), Judge)

    assert failure.script.config.capacity == 9
    assert is_minimal(failure, Judge)


def test_what_needs_another_judge_for_each_script_is_shrunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def new_judge() -> Judge:
        monkeypatch.undo()
        nudges_the_first_cache_ever(monkeypatch)
        return Judge()

    script = script_of(Prefill(prompt=(0, 1)), Decode(token_id=2), Reset())

    assert len(shrunk(failure_of(script, new_judge()), new_judge).script.calls) < 2


def test_no_more_is_judged_than_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rotates_one_further(monkeypatch)
    monkeypatch.setattr("properties.shrink._MOST_ROWS", 0)
    failure = failure_of(script_of(*NOISE))

    assert shrunk(failure, Judge) is failure


def test_engine_that_fails_at_random_is_no_endless_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = Random(1)  # noqa: S311 # makes no secret

    def shaky(position: int, head_dim: int, base: float, dtype: DType) -> Rotation:
        return rotation(position + (rng.random() < 0.2), head_dim, base, dtype)

    monkeypatch.setattr("engine.row.rotation", shaky)
    failure = failure_of(script_of(Prefill(prompt=(0, 1, 2, 3)), *NOISE))

    assert shrunk(failure, Judge).law == failure.law


def test_what_is_kept_of_a_hunt_is_shrunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nudges_after_a_refusal(monkeypatch)

    with pytest.raises(PropertyFailed) as failure, kept(tmp_path):
        hunt(Judge, list[Verdict]().append, PROFILES["default"].machine)

    # Whatever else came between, or nothing since the last right answer, may be blamed.
    assert failure.value.law.id in {"R3", "S3", "S4", "S5", "S6", "B3", "E2"}
    assert len(failure.value.script.calls) <= MAX_CALLS
    assert is_minimal(failure.value, Judge)
