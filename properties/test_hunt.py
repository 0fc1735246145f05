"""The hunts on the built-in engine."""

from collections.abc import Callable
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, TypeAlias

import pytest

from properties.enumeration import MACHINE_FLOORS, enumerate_all, enumeration_floors
from properties.extremes import extreme_sweep
from properties.failures import kept
from properties.floors import Census, Floors, missed
from properties.geometry import position_sweep
from properties.hunting import climb, hunt
from properties.judge import Judge
from properties.plugin import length_of_hunt
from properties.requests import request_sweep
from properties.script import Script, from_json

Reached: TypeAlias = Callable[[Census, Floors], None]
NewJudge: TypeAlias = Callable[[], Judge]

CORPUS = sorted(
    (files("properties") / "corpus").iterdir(), key=lambda script: script.name
)
MORE: Final = 12  # a random run may reach one cell of hundreds late

SWEEP = list(position_sweep())


def test_machine(new_judge: NewJudge, reached: Reached) -> None:
    census, length = Census(), length_of_hunt()
    floors = MACHINE_FLOORS if length.has_floors else {}
    with kept():
        hunt(new_judge, census.record, length.machine)
        for _ in range(MORE):
            if missed(census, floors):
                hunt(new_judge, census.record, length.more)

    reached(census, floors)


def test_machine_climbs(new_judge: NewJudge, reached: Reached) -> None:
    census = Census()
    with kept():
        climb(new_judge, census.record, length_of_hunt().climb)

    reached(census, {})


def test_enumeration(new_judge: NewJudge, reached: Reached) -> None:
    depth = length_of_hunt().depth
    with kept():
        done = enumerate_all(new_judge(), depth)

    reached(done.census, enumeration_floors(depth))


def test_requests(new_judge: NewJudge) -> None:
    judge = new_judge()
    with kept():
        for script in (*request_sweep(), *extreme_sweep()):
            judge(script)


@pytest.mark.parametrize("path", CORPUS, ids=[path.name for path in CORPUS])
def test_corpus(path: Traversable, new_judge: NewJudge) -> None:
    with kept():
        new_judge()(from_json(path.read_bytes()))


@pytest.mark.parametrize(
    "script",
    SWEEP,
    ids=[f"to-{each.config.capacity}-{each.config.dtype}" for each in SWEEP],
)
def test_positions(script: Script, new_judge: NewJudge) -> None:
    with kept():
        new_judge()(script)
