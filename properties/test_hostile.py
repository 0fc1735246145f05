"""The hunts for input that the built-in engine does not withstand."""

from collections import Counter
from pathlib import Path
from typing import Final

from hypothesis import settings

from properties.hostile.calls import PLACES
from properties.hostile.damage import DAMAGES
from properties.hostile.files import hunt_files
from properties.hostile.judging import KINDS, Census, hunt
from properties.plugin import length_of_hunt

SHARE: Final = 20  # of the files' examples for each place: there are as many places
MORE: Final = 20  # a random run may reach one outcome of dozens late


def test_values(tmp_path: Path) -> None:
    census, length = Census(), length_of_hunt()
    share = max(1, length.hostile.max_examples // SHARE)
    few = settings(length.hostile, max_examples=share)
    for place in PLACES:
        hunt(tmp_path, census, few, place)
    if length.has_floors:
        for _ in range(MORE):
            calls = {call for call, _ in census.lacking()}
            for place in PLACES:
                if place.call in calls:
                    hunt(tmp_path, census, few, place)

        assert census.lacking() == []
        assert census.kinds.keys() == KINDS.keys()


def test_files(tmp_path: Path) -> None:
    outcomes, length = Counter[tuple[str, str]](), length_of_hunt()
    hunt_files(tmp_path, outcomes, length.hostile)

    if length.has_floors:
        for _ in range(MORE):
            if {kind for kind, _ in outcomes} != DAMAGES.keys():
                hunt_files(tmp_path, outcomes, length.hostile)

        assert {kind for kind, _ in outcomes} == DAMAGES.keys()
        assert {outcome for _, outcome in outcomes} == {"loaded", "rejected"}
