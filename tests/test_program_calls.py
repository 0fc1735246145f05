"""What a program computes is what the judge's engine computed, to the last bit.

A law that is broken by the judge's last decode shows its logits, and the program must
come to the same, whatever the script is.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from engine.arrays import DType
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Changes,
    Close,
    Copy,
    Decode,
    Flaw,
    Generate,
    NewCache,
    NewDecoder,
    Prefill,
    Reset,
    Restore,
    Sampling,
    Step,
    Train,
)
from properties.chapter import CONFIG
from properties.difference import Difference
from properties.judge import Judge
from properties.laws import Law
from properties.laws.law import law
from properties.moment import Met, Moment
from properties.plan import moved
from properties.program import program, writing
from properties.script import Fault, Script, Weights
from tests.judged import failure_of
from tests.planned import fault
from tests.programs import message_of

PLAIN: Final = Weights(seed=38)
START: Final = Prefill(prompt=(0, 1))
LONG: Final = Prefill(prompt=(0, 1, 2, 3))
NEW: Final = (NewCache(decoder=1), Bind(cache=1, decoder=1))
AGAIN: Final = (NewCache(), Bind(cache=1))


@pytest.fixture(autouse=True)
def of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is short enough is another matter."""
    monkeypatch.setattr(writing, "MOST_LINES", 100)


def is_last(moment: Moment) -> bool:
    """Whether it is about the last token of all, which is token 0 of a cache."""
    token_id = getattr(moment.call, "token_id", None)
    is_newest = moment.cache == len(moment.model.caches) - 1
    return moment.is_closing and is_newest and token_id == 0


def logits(moment: Moment) -> Difference | None:
    """They are shown."""
    if not is_last(moment):
        return None
    came = float(moment.logits[1])
    return Difference(where="it", due=0.0, came=came, bound=0.0, place=("logits", 1))


def spare(moment: Moment) -> Difference | None:
    """It is counted."""
    if not is_last(moment):
        return None
    bits = moment.before.caches[moment.cache].bits
    came = int(np.isnan(np.frombuffer(bits, moment.config.dtype)).sum())
    return Difference(where="it", due=-1, came=came, place=("NaNs",))


LOGITS: Final = law("X1 logits", (Met.LOGITS,))(logits)
SPARE: Final = law("X2 spare", (Met.LOGITS,))(spare)


def require_same(
    *calls: Call,
    weights: Weights = PLAIN,
    faults: Sequence[Fault] = (),
    dtype: DType = "float64",
    shows: Law = LOGITS,
) -> None:
    """In the plainest wording and in the most thorough one."""
    config = replace(CONFIG, dtype=dtype, capacity=9)
    script = Script(config=config, weights=weights, calls=calls, faults=tuple(faults))
    failure = failure_of(script, Judge(laws=[shows]))
    found = failure.broken[shows]
    message = f"{shows.id} {shows.name}, it: due {found.due}, came {found.came}"
    plainest, *_, most_thorough = writing.WORDINGS
    for wording in (plainest, most_thorough):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(writing, "WORDINGS", (wording,))
            text = program(failure)

        assert message_of(text) == message


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "weights",
    [
        {},
        {"scale": 1.7},
        {"gain_spread": 0.3},
        {"scale": 1e-3, "gain_spread": 0.5},
        {"factors": (("final_norm.gain", 0.1), ("blocks.1.ffn.up.weight", 3.0))},
        {
            "scale": 0.3,
            "gain_spread": 0.7,
            "factors": (("blocks.0.attention.key.weight", 0.1), ("final_norm.gain", 3)),
        },
    ],
)
def test_weights_are_those_of_the_script(
    weights: dict[str, object], dtype: DType
) -> None:
    made = Weights.model_validate({"seed": 7, **weights})

    require_same(START, weights=made, dtype=dtype)


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param((), id="nothing"),
        pytest.param((START, *4 * (Decode(token_id=3),)), id="decodes"),
        pytest.param((Prefill(prompt=(1,) * 7),), id="prompt of one token"),
        pytest.param((START, Reset(), Prefill(prompt=(2,))), id="reset"),
        pytest.param((START, Prefill(prompt=(2,)), Decode(token_id=9)), id="refused"),
        pytest.param((START, Close(), Bind(), Reset(age=1)), id="old session"),
        pytest.param((START, Copy(), Bind(cache=1), Decode(token_id=4)), id="copy"),
        pytest.param((START, NewCache(work=(1, 2, 3, 4, 5, 6))), id="counters"),
        pytest.param((NewDecoder(rebuilt=(0, 3)), *NEW), id="rebuilt"),
        pytest.param((NewDecoder(rebuilt=tuple(range(20))), *NEW), id="all rebuilt"),
        pytest.param((Restore(), *NEW), id="restored"),
        pytest.param((START, Close(), BindRebuilt(rebuilt=(1,))), id="bind rebuilt"),
        pytest.param(
            (START, Close(), BindChanged(changes=Changes(rms_epsilon=0.5))),
            id="bind changed",
        ),
        pytest.param(
            (START, Close(), BindChanged(changes=Changes(d_ff=5))), id="bind other"
        ),
        pytest.param((Close(), Step(seed=3, scale=0.7), *AGAIN), id="step"),
        pytest.param((Close(), *3 * (Step(seed=3),), *AGAIN), id="steps"),
        pytest.param(
            (Close(), Train(tokens=(0, 1), targets=(1, 2)), *AGAIN), id="train"
        ),
        pytest.param((Close(), Step(), Restore(), Step(), *NEW), id="saved step"),
        pytest.param((Generate(prompt=(0,)), START), id="greedy"),
        pytest.param(
            (
                Generate(prompt=(0,), sampling=Sampling(temperature=0.5, k=2)),
                Generate(prompt=(), sampling=Sampling(temperature="inf", k=2)),
                Restore(),
                *NEW,
            ),
            id="sampled",
        ),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_calls_are_those_of_the_script(calls: tuple[Call, ...], dtype: DType) -> None:
    require_same(*calls, dtype=dtype)


@pytest.mark.parametrize(
    "kind", ["missing", "surplus", "shape", "nan", "overflow", "duplicate", "subset"]
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_flaws_are_those_of_the_script(kind: str, dtype: DType) -> None:
    flaw = Flaw.model_validate({"kind": kind, "index": 1})

    require_same(Close(), Step(flaw=flaw), Step(seed=1), *AGAIN, dtype=dtype)


@pytest.mark.parametrize(
    "faults",
    [
        [fault(0, 5)],
        [fault(0, 78)],  # the commit
        [fault(0, 500), fault(1, 7, "MemoryError")],
        [fault(0, 3, "KeyboardInterrupt", persists=True), fault(2, 500)],
        [fault(2, 4, "FloatingPointError"), fault(3, 10)],
    ],
)
@pytest.mark.parametrize("before", [(), (Decode(token_id=9), Reset())])
def test_faults_are_those_of_the_script(
    before: tuple[Call, ...], faults: list[Fault]
) -> None:
    decodes = Decode(token_id=1), Decode(token_id=1)
    later = [moved(each, len(before)) for each in faults]

    require_same(*before, START, START, *decodes, faults=later)


@pytest.mark.parametrize(
    ("calls", "faults"),
    [
        ((), []),
        ((LONG, Reset(), Prefill(prompt=(2,))), []),
        ((START, Copy()), []),
        ((START, NewCache()), []),
        ((LONG, Prefill(prompt=(1,))), [fault(0, 150)]),
        ((START, *2 * (Decode(token_id=2),)), [fault(1, 30)]),
    ],
)
def test_spare_rows_are_fouled_as_the_judge_does(
    calls: tuple[Call, ...], faults: list[Fault]
) -> None:
    require_same(*calls, faults=faults, shows=SPARE)


@pytest.mark.parametrize("is_second", [False, True])
@pytest.mark.parametrize(
    "faults",
    [
        [fault(0, 5), fault(1, 70)],
        [fault(0, 5, persists=True)],
        [fault(0, 5, persists=True), fault(1, 7, "MemoryError")],
    ],
)
def test_fault_strikes_where_it_is_planned(
    faults: list[Fault], *, is_second: bool
) -> None:
    def struck(moment: Moment) -> Difference | None:
        is_it = moment.struck is not None and moment.call == calls[is_second]
        found = Difference(where="it", due="", came="", place=("point",))
        return found if is_it else None

    calls = START, Prefill(prompt=(2, 1))
    shows = law("X3 point", (Met.REFUSED,))(struck)
    script = Script(config=CONFIG, weights=PLAIN, calls=calls, faults=tuple(faults))
    failure = failure_of(script, Judge(laws=[shows]))

    assert len(failure.made) == is_second
    assert message_of(program(failure)) == ""
