"""Planned faults: where they strike, what comes of them, and what is no plan."""

import pytest

from engine import Stage
from engine.stages import row_places
from properties.calls import (
    Bind,
    Call,
    Close,
    Decode,
    Generate,
    Prefill,
    Reset,
    Sampling,
)
from properties.chapter import CONFIG
from properties.judge import Judge
from properties.points import Point
from properties.record import Seen
from properties.script import Fault, ScriptRejected
from tests.judged import GROWS, closing, script_of
from tests.planned import fault

ROW = len(row_places(CONFIG.n_layers))
LAST = Point(Stage.COMMIT, None, 2)


def seen_of(*calls: Call, faults: tuple[Fault, ...]) -> tuple[Seen, ...]:
    return Judge()(script_of(*calls, faults=faults)).seen


@pytest.mark.parametrize(
    ("raises", "outcome"),
    [
        ("Exception", "StageFailed"),
        ("MemoryError", "StageFailed"),
        ("FloatingPointError", "StageFailed"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_fault_ends_its_call_and_no_other(raises: str, outcome: str) -> None:
    calls = (*GROWS, *GROWS[1:])

    seen = seen_of(*calls, faults=(fault(1, ROW, raises),))

    assert [each.outcome for each in seen] == ["done", outcome, "done"]
    assert [each.struck for each in seen] == [None, LAST, None]
    assert [each.length for each in seen] == [2, 2, 3]


def test_fault_beyond_the_last_point_never_strikes() -> None:
    seen = seen_of(*GROWS, faults=(fault(1, ROW + 1, persists=True),))

    assert [each.outcome for each in seen] == ["done", "done"]


def test_fault_persists_until_another_comes() -> None:
    calls = (*GROWS, Decode(token_id=1), Reset(), Prefill(prompt=(0,)), Close(), Bind())
    again = Prefill(prompt=(1, 1))
    faults = (fault(1, 3, "MemoryError", persists=True), fault(7, 2 * ROW))

    seen = seen_of(*calls, again, again, faults=faults)

    failed, done = "StageFailed", "done"
    assert [each.outcome for each in seen] == [
        *(done, failed, failed, done, failed, done, done),
        *(failed, done),
    ]
    assert [each.struck for each in seen if each.struck is not None] == [
        Point(Stage.KEY, 0, 2),
        Point(Stage.EMBEDDING, None, 2),
        Point(Stage.EMBEDDING, None, 0),
        Point(Stage.COMMIT, None, 1),
    ]


def test_fault_that_persists_ends_with_the_script() -> None:
    script = script_of(*GROWS, faults=(fault(0, 0, persists=True),))

    assert closing(Judge()(script))[-2:] == 2 * [("decode", "done")]


@pytest.mark.parametrize("call", [Decode(token_id=9), Prefill(prompt=(0,)), Reset()])
def test_refused_call_meets_no_fault(call: Call) -> None:
    calls = (Prefill(prompt=(0, 1)), call)

    with_fault = seen_of(*calls, faults=(fault(1, 0),))

    assert with_fault == seen_of(*calls, faults=())


def test_failure_of_its_own_comes_first_or_the_fault_does() -> None:
    """Weights of 1e100 overflow within the first row."""
    call = Prefill(prompt=(0, 1))
    natural = Judge()(script_of(call, scale=1e100)).seen[0]
    met = [
        Judge()(script_of(call, scale=1e100, faults=(fault(0, point),))).seen[0].struck
        for point in range(ROW)
    ]
    n_struck = sum(point is not None for point in met)
    places = row_places(CONFIG.n_layers)

    assert natural.outcome == "StageFailed"
    assert 0 < n_struck < ROW
    assert met[n_struck:] == (ROW - n_struck) * [None]
    assert [each[:2] for each in met if each is not None] == list(places[:n_struck])


def test_fault_in_a_generation_strikes_in_its_prompt_or_later() -> None:
    """Two tokens are read and committed, then one."""
    call = Generate(prompt=(0, 1), sampling=Sampling(temperature=1.0, k=2))
    points = 0, 2 * ROW, 2 * ROW + 1, 3 * ROW + 1, 3 * ROW + 2

    met = [seen_of(call, faults=(fault(0, each),))[0].struck for each in points]

    assert met == [
        Point(Stage.EMBEDDING, None, 0),
        Point(Stage.COMMIT, None, 1),
        Point(Stage.EMBEDDING, None, 2),
        Point(Stage.COMMIT, None, 2),
        None,
    ]


def test_generation_of_nothing_meets_no_fault() -> None:
    call = Generate(prompt=(0,), max_new_tokens=0)

    assert seen_of(call, faults=(fault(0, 0),))[0].outcome == "done"


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ((fault(2, 0),), "a fault is planned for call 2"),
        ((fault(1, 0), fault(0, 0)), "in the order of their calls"),
        ((fault(0, 0), fault(0, 1)), "one a call"),
    ],
)
def test_plan_that_is_none_is_rejected(faults: tuple[Fault, ...], reason: str) -> None:
    with pytest.raises(ScriptRejected, match=reason):
        Judge()(script_of(*GROWS, faults=faults))
