"""The fallible points of a call: where a probe is called, in order."""

from functools import lru_cache
from typing import NamedTuple, TypeAlias

from engine import DecoderConfig, Stage, StageFailed
from engine.stages import row_places
from properties.calls import Decode, Generate, Prefill

Fallible: TypeAlias = Prefill | Decode | Generate
"""Calls that have points."""


class Point(NamedTuple):
    """One call of the probe: after a stage of a row, or before a commit."""

    stage: Stage
    layer: int | None
    position: int

    def __str__(self) -> str:
        block = "" if self.layer is None else f" of block {self.layer}"
        return f"{self.stage}{block}, position {self.position}"


@lru_cache
def points_between(n_layers: int, start: int, end: int) -> tuple[Point, ...]:
    """Those of a call that extends a prefix from one length to another."""
    rows = [
        Point(stage, layer, position)
        for position in range(start, end)
        for stage, layer in row_places(n_layers)
    ]
    return (*rows, Point(Stage.COMMIT, None, end - 1))


def points_before(
    config: DecoderConfig, start: int, position: int, failure: StageFailed
) -> int:
    """How many points come before a stage that fails by itself."""
    places = row_places(config.n_layers)
    index = places.index((failure.stage, failure.layer))
    return (position - start) * len(places) + index


def n_points(config: DecoderConfig, call: Fallible) -> int:
    """How many points a call has, if nothing ends it; a generation has at least these.

    Of a generation only its prompt is known beforehand.
    """
    n_rows = 1 if isinstance(call, Decode) else len(call.prompt)
    return n_rows * len(row_places(config.n_layers)) + 1
