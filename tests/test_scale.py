"""The sweep across scales rejects engines that lose a number on its way."""

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Final, get_args

import pytest
from rich.console import Console

from engine import Stage
from engine.arrays import DType
from engine.stages import Place
from properties.judge import Judge, PropertyFailed
from properties.scale import (
    REACHABLE,
    Failing,
    Misplaced,
    ScalesMissed,
    ScaleSweep,
    Tried,
    require_complete,
    scale_table,
    sweep,
)
from properties.scaled import Scaled, Zone, scaled_scripts
from tests.broken_numbers import (
    clips_scores,
    closes_gates_and_drops_flags,
    drops_flags,
    forgets_the_energy,
    renames,
    takes_all_for_finite,
)
from tests.witness import Patch

GATE, UP, VALUE = (Stage.GATE, 0), (Stage.UP, 0), (Stage.VALUE, 1)


@cache
def scripts() -> Sequence[Scaled]:
    return tuple(scaled_scripts())


def aimed(*places: Place) -> list[Scaled]:
    """Those beyond the edge."""
    return [
        each
        for each in scripts()
        if each.zone is Zone.BEYOND and each.aim.place in places
    ]


ENERGY: Final = (Stage.FFN_NORM, 1), (Stage.FINAL_NORM, None)
BROKEN: Final[dict[str, tuple[Patch, tuple[Place, ...]]]] = {
    "an infinite norm": (forgets_the_energy, ENERGY),
    "no energy": (forgets_the_energy, ((Stage.ATTENTION_NORM, 0),)),
    "everything": (takes_all_for_finite, ((Stage.VALUE, 0), VALUE)),
    "a score": (clips_scores, ((Stage.SCORES, 1),)),
    "a gate": (closes_gates_and_drops_flags, ((Stage.GATE, 1),)),
    "a stage": (partial(renames, one=GATE, other=UP), (GATE,)),
    "a block": (partial(renames, one=VALUE, other=(Stage.VALUE, 0)), (VALUE,)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_sweep_rejects_what_loses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks, places = BROKEN[name]
    breaks(monkeypatch)
    with pytest.raises(PropertyFailed) as failure:
        sweep(Judge(), aimed(*places))

    assert [law.id for law in failure.value.broken] == ["N1"]


def test_flags_are_one_of_two_defences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The looks where a number would vanish see all that this sweep makes."""
    drops_flags(monkeypatch)

    swept = sweep(Judge(), aimed(*REACHABLE)[::9])

    assert len(swept.tried) > 40


@cache
def invented() -> ScaleSweep:
    """As if every place had failed on both sides, and then on each of them alone."""
    tried = []
    for dtype, place in product(get_args(DType), REACHABLE):
        first = scripts()[0]
        config = replace(first.script.config, dtype=dtype)
        script = first.script.model_copy(update={"config": config})
        scaled, failing = first._replace(script=script), Failing(0, place)
        tried.append(Tried(scaled, failing, failing))
    both = tried[0]
    alone = both._replace(came=None), both._replace(due=None)
    later = both._replace(due=Failing(1, REACHABLE[0]))
    return ScaleSweep(tried=(*tried, *alone, later), seconds=1.0)


def test_complete_sweep_is_enough() -> None:
    require_complete(invented())


def test_place_that_never_failed_is_missed() -> None:
    whole = invented()
    fewer = [
        each for each in whole.tried if each.due != Failing(0, (Stage.LOGITS, None))
    ]

    with pytest.raises(
        ScalesMissed, match=r"4 were not met:\n  engine float64 .*logits"
    ):
        require_complete(replace(whole, tried=tuple(fewer)))


def test_failure_elsewhere_is_misplaced() -> None:
    """Whatever the judge says: here he is content with everything."""
    (first, *_) = aimed(VALUE)
    elsewhere = first._replace(places=frozenset({GATE}))

    with pytest.raises(
        Misplaced, match="the engine, beyond, value projection of block 1"
    ):
        sweep(Judge(), [elsewhere])


def test_table_counts_what_was_met_unlike() -> None:
    shown = io.StringIO()
    Console(file=shown, width=120).print(scale_table(invented()))
    (line,) = (
        line for line in shown.getvalue().splitlines() if "attention norm" in line
    )

    assert line.split()[-3:] == ["1", "1", "1"]


def test_table_has_a_line_for_each_stage_that_was_aimed_at() -> None:
    shown = io.StringIO()
    swept = invented()
    Console(file=shown, width=120).print(scale_table(swept))
    aimed = {each.scaled.aim.place[0] for each in swept.tried}

    assert {stage for stage in Stage if f" {stage} " in shown.getvalue()} == aimed
