"""What was reached is counted in cells, and too little is seen, and too much too."""

import io
import pickle
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Final

import pytest
from rich.console import Console

from engine import Stage
from properties.calls import Call, Close, Decode, Reset
from properties.floors import (
    CORPUS_FLOORS,
    OUTCOMES,
    PAIRS,
    RANDOM_FLOORS,
    REACHABLE,
    STRUCK,
    Cell,
    Census,
    Floors,
    FloorsMissed,
    Outcome,
    Pair,
    Struck,
    require,
    table,
)
from properties.graph import DONE, EDGES, KINDS, Edge
from properties.judge import Verdict
from properties.points import Point
from properties.record import Seen
from tests.walks import walk

BY_ARITHMETIC: Final = frozenset(
    each
    for each in OUTCOMES
    if each.outcome in {"StageFailed", "NonFiniteUpdate", "KeyboardInterrupt"}
    or (each.call == "generate" and each.outcome != DONE)
) - {Outcome("step", "NonFiniteUpdate")}
"""Outcomes that neither the model knows nor a walk without faults meets."""

BY_RULES: Final = dict.fromkeys(REACHABLE - EDGES - STRUCK - BY_ARITHMETIC, 1)


@pytest.fixture(scope="module")
def walks() -> list[Verdict]:
    """They cannot flake: the generator is seeded, and no outcome hangs on rounding."""
    rng = Random(1)  # noqa: S311 # chooses calls, and keeps no secret
    return [walk(rng, 30) for _ in range(1_000)]


@pytest.fixture(scope="module")
def census(walks: list[Verdict]) -> Census:
    return counted(*walks)


def counted(*verdicts: Verdict) -> Census:
    census = Census()
    for verdict in verdicts:
        census.record(verdict)
    return census


def verdict_of(*calls: Call, outcome: str = DONE) -> Verdict:
    seen = [Seen(call, outcome, "empty bound", "empty bound", 0, 0.0) for call in calls]
    return Verdict(seen=tuple(seen), closing=(), digest="", n_unsure=0, n_skipped=0)


def without(verdict: Verdict, is_dropped: Callable[[Seen], bool]) -> Verdict:
    kept = tuple(each for each in verdict.seen if not is_dropped(each))
    return replace(verdict, seen=kept)


def missed(census: Census, floors: Floors) -> set[Cell]:
    with pytest.raises(FloorsMissed) as raised:
        require(census, floors)
    return {each.cell for each in raised.value.lines}


def test_chance_reaches_every_outcome_and_pair_that_rules_decide(
    census: Census,
) -> None:
    require(census, BY_RULES)


def test_chance_reaches_most_edges(census: Census) -> None:
    """All but a few that take luck; a longer walk takes those too."""
    edges = {each for each in EDGES if Outcome(each.call, each.outcome) in BY_RULES}

    assert len(edges - census.counts.keys()) < len(edges) / 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_call_that_is_no_longer_made_is_missed(
    walks: list[Verdict], kind: str
) -> None:
    census = counted(*(without(each, lambda s: s.call.call == kind) for each in walks))

    assert missed(census, BY_RULES) == {cell for cell in BY_RULES if kind in cell}


def test_a_refusal_that_no_longer_comes_is_missed(walks: list[Verdict]) -> None:
    census = counted(
        *(without(each, lambda s: s.outcome == "CacheFull") for each in walks)
    )

    assert missed(census, BY_RULES) == {Outcome("decode", "CacheFull")}


def test_floor_is_the_least_that_is_enough() -> None:
    census, cell = counted(verdict_of(Reset(), Reset())), Outcome("reset", DONE)
    require(census, {cell: 2})

    with pytest.raises(FloorsMissed, match=r"reset: done: .*\(reached 2, floor 3\)"):
        require(census, {cell: 3})


def test_unreachable_cell_that_is_reached_fails_with_its_reason() -> None:
    census = counted(verdict_of(Reset(), outcome="SessionBusy"))

    with pytest.raises(FloorsMissed, match="reset: SessionBusy: unreachable: needs a"):
        require(census, {})


def test_unknown_outcome_fails_once() -> None:
    census = counted(verdict_of(Reset(), outcome="ValueError"))

    assert missed(census, {}) == {Outcome("reset", "ValueError")}


def test_unknown_edge_fails() -> None:
    seen = Seen(Reset(), DONE, "full bound", "full bound", 4, 0.0)
    census = counted(replace(verdict_of(), seen=(seen,)))

    assert missed(census, {}) == {Edge("full bound", "reset", DONE, "full bound")}


def test_random_makers_have_a_floor_of_20_for_everything() -> None:
    assert set(RANDOM_FLOORS.values()) == {20}
    assert RANDOM_FLOORS.keys() | CORPUS_FLOORS.keys() == REACHABLE - EDGES
    assert len(PAIRS) == len(KINDS) ** 2 == 196


def test_pairs_are_of_one_run() -> None:
    census = counted(verdict_of(Reset(), Close()), verdict_of(Close(), Close()))
    pairs = {cell: n for cell, n in census.counts.items() if isinstance(cell, Pair)}

    assert pairs == {Pair("reset", "close"): 1, Pair("close", "close"): 1}


def test_fault_right_after_another_is_counted_apart() -> None:
    point = Point(Stage.COMMIT, None, 0)
    reset, decode = (Reset(), point), (Decode(token_id=0), point)
    close = Close(), None
    runs: list[list[tuple[Call, Point | None]]] = [
        [reset, decode, close],
        [decode, close, decode],
    ]
    verdicts = [
        replace(
            verdict_of(),
            seen=tuple(Seen(call, DONE, "", "", 0, 0.0, met) for call, met in run),
        )
        for run in runs
    ]
    struck = {
        cell: n
        for cell, n in counted(*verdicts).counts.items()
        if isinstance(cell, Struck)
    }

    assert struck == {
        Struck("reset", again=False): 1,
        Struck("decode", again=True): 1,
        Struck("decode", again=False): 2,
    }
    assert [str(each) for each in struck] == [
        "a fault in one reset",
        "a fault in one more decode",
        "a fault in one decode",
    ]


def test_a_census_of_another_process_can_be_merged(walks: list[Verdict]) -> None:
    merged = counted(*walks[:500])
    merged.merge(pickle.loads(pickle.dumps(counted(*walks[500:]))))

    assert merged.counts == counted(*walks).counts


def test_table_has_strangers_first_and_then_the_lowest_margin() -> None:
    census = counted(
        verdict_of(Reset(), Reset(), Close()), verdict_of(Reset(), outcome="ValueError")
    )
    lines = printed(
        census,
        {
            Outcome("reset", DONE): 1,
            Outcome("close", DONE): 1,
            Outcome("decode", DONE): 20,
        },
    )

    assert [" ".join(line.split()) for line in lines] == [
        "reset: ValueError unknown 1 0 1",
        "decode: done below its floor 0 20 -20",
        "close: done enough 1 1 0",
        "reset: done enough 2 1 1",
    ]


def printed(census: Census, floors: Floors) -> list[str]:
    """The rows as plain text, without colours and rules."""
    text = io.StringIO()
    Console(file=text, width=100, no_color=True).print(table(census, floors))
    rows = [line for line in text.getvalue().splitlines() if line.startswith("\u2502")]
    return [row.replace("\u2502", " ") for row in rows]
