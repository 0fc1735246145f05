"""The strength of a bound on paper: a table for each dtype, and all of it as JSON."""

import json
import math
from collections.abc import Iterator
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from engine.arrays import DType
from properties.corruptions import CORRUPTIONS
from properties.rejections import LOGITS, ROWS, RULES, Tally
from properties.strength import SOUND, Tallies

LEGEND: Final = """\
One cached key or value vector is zero, or that of the next position, or off by so much
of its length, or rounded to half precision; or none is, and a rejection is a false
alarm.
"""


def tables(tallies: Tallies) -> Iterator[Table]:
    """What was rejected in each dtype, over all models."""
    for dtype in dict.fromkeys(kind.dtype for kind in tallies):
        yield _table(tallies, dtype)


def n_false_alarms(tallies: Tallies) -> int:
    """How often the bound rejected what is right."""
    found = [
        each.rejected for kind, each in tallies.items() if kind.corruption == SOUND
    ]
    return sum(each[rule] for each in found for rule in (ROWS, LOGITS))


def to_json(tallies: Tallies) -> str:
    """A line for each model, dtype and corruption; rules that rejected nothing too."""
    lines = ",\n".join(
        json.dumps(
            {
                **kind._asdict(),
                "n_judged": each.n_judged,
                "n_equal": each.n_equal,
                "rejected": {rule: each.rejected[rule] for rule in RULES},
            }
        )
        for kind, each in tallies.items()
    )
    return f'{{"version": 1, "tallies": [\n{lines}]}}\n'


def _table(tallies: Tallies, dtype: DType) -> Table:
    """Rules by corruption: how many in a hundred were rejected, and how many in all."""
    models = dict.fromkeys(kind.model for kind in tallies if kind.dtype == dtype)
    title = f"{dtype} ({', '.join(models)}): rejected, in per cent and in all"
    shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    shown.add_column("rule", no_wrap=True)
    pooled = {name: _pooled(tallies, dtype, name) for name in (*CORRUPTIONS, SOUND)}
    for name in pooled:
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_row("judged", *(str(each.n_judged) for each in pooled.values()))
    left = (str(each.n_equal) for each in pooled.values())
    shown.add_row("left equal", *left, end_section=True)
    for rule in RULES:
        shown.add_row(rule, *(_cell(each, rule) for each in pooled.values()))
    return shown


def _pooled(tallies: Tallies, dtype: DType, corruption: str) -> Tally:
    return sum(
        (
            each
            for kind, each in tallies.items()
            if (kind.dtype, kind.corruption) == (dtype, corruption)
        ),
        start=Tally(),
    )


def _cell(tally: Tally, rule: str) -> str:
    """A share is cut, not rounded: only of all it is 100."""
    n_rejected = tally.rejected[rule]
    if n_rejected == tally.n_judged:
        return f"100\n{n_rejected}" if n_rejected else "-"
    share = math.floor(1_000 * n_rejected / tally.n_judged) / 10
    return f"{share:.1f}\n{n_rejected}"
