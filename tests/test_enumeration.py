"""Every sequence is made once, as a valid script; together they reach their cells."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Final

import pytest

from properties.alphabets import GEOMETRIES, Geometry
from properties.calls import Close, Decode, Generate, Prefill, Reset, Step, Train
from properties.chapter import CONFIG, SEED
from properties.enumeration import (
    Enumeration,
    enumerate_all,
    enumeration_floors,
    faulty,
    scripts,
)
from properties.floors import Census, FloorsMissed, Outcome, Pair, require
from properties.graph import DONE, EDGES
from properties.judge import Judge, Verdict
from properties.script import FAULTS, Script, from_json, to_json
from tests.walks import seen_by_model

NAMES: Final = [each.name for each in GEOMETRIES]


@pytest.fixture(scope="module")
def to_depth_3() -> Enumeration:
    return enumerate_all(seen_by_model, 3)


def test_geometries_are_three_and_the_chapter_is_first() -> None:
    first = GEOMETRIES[0]

    assert NAMES == ["chapter", "copied", "shared"]
    assert (first.config, first.weights.seed, first.prelude) == (CONFIG, SEED, ())


def test_alphabets_are_what_they_were() -> None:
    """Three geometries share cells, so a floor would not miss each of these calls."""
    assert [len(set(each.alphabet)) for each in GEOMETRIES] == [10, 10, 10]
    assert [len(each.alphabet) for each in GEOMETRIES] == [10, 10, 10]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=NAMES)
def test_every_sequence_occurs_once(geometry: Geometry, depth: int) -> None:
    start, n_letters = len(geometry.prelude), len(geometry.alphabet)
    made = [script.calls[start:] for script in scripts(geometry, depth)]

    assert len(made) == sum(n_letters**length for length in range(1, depth + 1))
    assert len(set(made)) == len(made)
    assert {call for calls in made for call in calls} == set(geometry.alphabet)
    assert {len(calls) for calls in made} == set(range(1, depth + 1))


def test_order_is_that_of_the_alphabet_and_short_ones_come_first() -> None:
    start, reset = Prefill(prompt=(1,)), Reset()
    small = replace(GEOMETRIES[0], alphabet=(reset, start))

    assert [script.calls for script in scripts(small, 2)] == [
        (reset,),
        (start,),
        (reset, reset),
        (reset, start),
        (start, reset),
        (start, start),
    ]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=NAMES)
def test_every_script_is_the_geometrys(geometry: Geometry) -> None:
    n_prelude = len(geometry.prelude)
    for script in scripts(geometry, 1):
        assert script.config == geometry.config
        assert script.weights == geometry.weights
        assert script.calls[:n_prelude] == geometry.prelude
        assert from_json(to_json(script)) == script


def test_every_script_is_judged(to_depth_3: Enumeration) -> None:
    """The model rejects none of them, so each names what exists in any order."""
    sizes = [(len(each.prelude), len(each.alphabet)) for each in GEOMETRIES]

    assert to_depth_3.n_geometries == 3
    assert to_depth_3.n_scripts == sum(n**k for _, n in sizes for k in (1, 2, 3))
    assert to_depth_3.n_calls == sum(
        n**k * (start + k) for start, n in sizes for k in (1, 2, 3)
    )
    assert to_depth_3.seconds > 0


def test_every_last_call_that_can_fail_does_so_twice(to_depth_3: Enumeration) -> None:
    """Once by an error and once by an interrupt, at points that take turns."""
    done = [
        (script, verdict)
        for geometry in GEOMETRIES
        for script in scripts(geometry, 3)
        for verdict in [seen_by_model(script)]
        if verdict.seen[-1].outcome == DONE
        and isinstance(script.calls[-1], Prefill | Decode | Generate)
    ]
    planned = [
        each.faults[0]
        for n, (script, verdict) in enumerate(done)
        for each in faulty(script, verdict, n)
    ]

    assert to_depth_3.n_faulty == len(planned) == 2 * len(done)
    assert {each.raises for each in planned[::2]} == {*FAULTS[:-1]}
    assert {each.raises for each in planned[1::2]} == {FAULTS[-1]}
    assert len({each.point for each in planned}) > 100


def test_depth_3_reaches_its_floors_and_nothing_else(to_depth_3: Enumeration) -> None:
    floors = enumeration_floors(3)
    require(to_depth_3.census, floors)

    assert to_depth_3.census.counts.keys() == floors.keys()


def test_depth_3_reaches_every_state_that_lasts(to_depth_3: Enumeration) -> None:
    assert to_depth_3.states == {edge.before for edge in EDGES}


def test_depth_3_reaches_as_much_as_it_did(to_depth_3: Enumeration) -> None:
    cells = to_depth_3.census.counts.keys()
    n_outcomes = sum(isinstance(each, Outcome) for each in cells)
    n_pairs = sum(isinstance(each, Pair) for each in cells)

    assert (n_outcomes, n_pairs, len(to_depth_3.edges)) == (30, 111, 100)


def test_floors_of_depth_4_are_reached(to_depth_3: Enumeration) -> None:
    """By any letter after three that move the cache; the others change nothing."""
    census = Census()
    census.merge(to_depth_3.census)
    for script in moved_scripts():
        census.record(seen_by_model(script))

    assert census.counts.keys() == enumeration_floors(4).keys()
    assert len(enumeration_floors(4).keys() - enumeration_floors(3).keys()) == 10


def moved_scripts() -> Iterator[Script]:
    for geometry in GEOMETRIES:
        movers = [
            call
            for call in geometry.alphabet
            if isinstance(call, Prefill | Decode | Close | Step | Train)
        ]
        for calls in product(movers, movers, movers, geometry.alphabet):
            yield Script(
                config=geometry.config,
                weights=geometry.weights,
                calls=geometry.prelude + calls,
            )


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=NAMES)
def test_a_geometry_that_is_not_run_is_missed(geometry: Geometry) -> None:
    others = [each for each in GEOMETRIES if each is not geometry]
    census = enumerate_all(seen_by_model, 3, others).census

    with pytest.raises(FloorsMissed):
        require(census, enumeration_floors(3))


def test_a_letter_that_is_taken_away_is_missed() -> None:
    chapter, *others = GEOMETRIES
    fewer = replace(chapter, alphabet=chapter.alphabet[:-1])
    census = enumerate_all(seen_by_model, 3, [fewer, *others]).census

    with pytest.raises(FloorsMissed):
        require(census, enumeration_floors(3))


def test_less_than_depth_3_has_no_floors() -> None:
    assert enumeration_floors(2) == {}


def test_judge_agrees_with_the_model_on_what_is_seen() -> None:
    judge = Judge()
    for geometry in GEOMETRIES:
        for script in scripts(geometry, 1):
            seen = [each._replace(error=0.0) for each in judge(script).seen]

            assert seen == [*seen_by_model(script).seen]


def test_what_the_judge_raises_comes_out() -> None:
    def judge(script: Script) -> Verdict:
        raise AssertionError(script.calls)

    with pytest.raises(AssertionError, match="Prefill"):
        enumerate_all(judge, 1)
