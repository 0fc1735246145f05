"""The mutants on paper: tables, and all of it as JSON."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from properties.chase import ENUMERATION, MACHINE, SWEEP
from properties.field_rules import FIELD_RULES
from properties.finding import INTERRUPTS, Blind, Finding
from properties.laws import LAWS
from properties.usual import FIXTURE

BUCKETS: Final = 0.01, 0.1, 1.0, 10.0
"""Seconds, each the end of a bucket; what is left takes longer."""

_MAKERS: Final = ENUMERATION, SWEEP, MACHINE, INTERRUPTS
_PROPERTIES: Final = (*LAWS, "A3")


def to_json(findings: Sequence[Finding], blind: Sequence[Blind]) -> str:
    """A line for each mutant, its row of the matrix among the rest."""
    lines = ",\n".join(json.dumps(_fields(each)) for each in findings)
    own = ",\n".join(json.dumps(each._asdict()) for each in blind)
    return f'{{"version": 1, "mutants": [\n{lines}],\n"suite": [\n{own}]}}\n'


def tables(findings: Sequence[Finding], blind: Sequence[Blind]) -> Iterator[Table]:
    """All there is to show, the longest table first."""
    killed = [each for each in findings if each.killer]
    if findings:
        yield _matrix(findings)
    if killed:
        yield _killers(killed)
        yield _times(killed)
        yield _usual(killed)
    if blind:
        yield _suite(blind)


def verdict(findings: Sequence[Finding], blind: Sequence[Blind]) -> str:
    """All of it in a few sentences."""
    killed = [each for each in findings if each.killer]
    kills = [kill for each in killed for kill in each.kills]
    least = [each.least for each in killed if each.least is not None]
    n_hunts = sum(len(each.seeds) for each in killed)
    wrong = [each.name for each in findings if not each.is_right]
    wrong += [each.name for each in blind if not each.is_right]
    said = [
        f"{len(killed)} mutants, {len(kills)} of {n_hunts} hunts found theirs",
        _spread("to the kill", [kill.seconds for kill in kills]),
        f"{len(findings) - len(killed)} equivalents",
    ]
    if least:
        lengths = [each.n_calls for each in least]
        said += [
            _spread("to shrink", [each.seconds for each in least]),
            f"to {median(lengths):g} calls in the median, {max(lengths)} at most",
            f"{sum(each.fails for each in least)} of {len(least)} programs fail alike",
        ]
    if blind:
        n_right = sum(each.is_right for each in blind)
        said.append(f"{n_right} of {len(blind)} mutants of the suite let theirs pass")
    told = "\n".join(said)
    return f"{told}\n" + "".join(f"not as it must be: {name}\n" for name in wrong)


def _fields(finding: Finding) -> dict[str, object]:
    fields = finding._asdict()
    fields["kills"] = [kill._asdict() for kill in finding.kills]
    fields["least"] = None if finding.least is None else finding.least._asdict()
    return fields


def _spread(what: str, seconds: Sequence[float]) -> str:
    """The median, the 95th percentile and the worst."""
    ordered = sorted(seconds)
    if not ordered:
        return f"no time {what}"
    late = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return (
        f"{median(ordered):.3f} s {what} in the median, {late:.2f} s at the 95th "
        f"percentile, {ordered[-1]:.2f} s at most"
    )


def _matrix(findings: Sequence[Finding]) -> Table:
    """A row for each mutant; of its properties those that its witness breaks."""
    shown = Table(title="mutants", title_justify="left", box=SIMPLE_HEAD)
    shown.add_column("mutant", no_wrap=True)
    shown.add_column("killer, and who else rejects it")
    for column in ("seeds", "maker", "calls", "seconds", "shrunk to", "in s", "lines"):
        shown.add_column(column, justify="right", no_wrap=True)
    for each in findings:
        others = [law for law in each.broken if law != each.killer]
        makers = Counter(kill.maker for kill in each.kills)
        least = each.least
        shown.add_row(
            each.name,
            " ".join((each.killer or "equivalent", *others)),
            f"{len(each.kills)}/{len(each.seeds)}",
            makers.most_common(1)[0][0] if makers else "",
            f"{median(kill.n_calls for kill in each.kills):g}" if makers else "",
            f"{median(kill.seconds for kill in each.kills):.3f}" if makers else "",
            "" if least is None else str(least.n_calls),
            "" if least is None else f"{least.seconds:.2f}",
            "" if least is None else str(least.n_lines),
        )
    return shown


def _killers(findings: Sequence[Finding]) -> Table:
    """By property: how many it has to kill, rejects, and rejects alone."""
    shown = Table(title="properties", title_justify="left", box=SIMPLE_HEAD)
    for column in ("property", "killer of", "rejects", "alone"):
        shown.add_column(column, justify="left" if column == "property" else "right")
    for law in _PROPERTIES:
        rejected = [each for each in findings if law in each.broken]
        counts = (
            sum(each.killer == law for each in findings),
            len(rejected),
            sum(len(each.broken) == 1 for each in rejected),
        )
        shown.add_row(law, *map(str, counts))
    return shown


def _times(findings: Sequence[Finding]) -> Table:
    """By maker: kills by the seconds that they took."""
    shown = Table(title="kills by time", title_justify="left", box=SIMPLE_HEAD)
    shown.add_column("first maker")
    ends = [*(f"to {end:g} s" for end in BUCKETS), "longer"]
    for column in (*ends, "all"):
        shown.add_column(column, justify="right")
    kills = [kill for each in findings for kill in each.kills]
    for maker in _MAKERS:
        seconds = [kill.seconds for kill in kills if kill.maker == maker]
        counts = Counter(sum(each > end for end in BUCKETS) for each in seconds)
        row = [str(counts[bucket]) for bucket in range(len(ends))]
        shown.add_row(maker, *row, str(len(seconds)))
    return shown


def _suite(blind: Sequence[Blind]) -> Table:
    """Lines without which the suite would let a wrong engine pass."""
    shown = Table(title="the suite itself", title_justify="left", box=SIMPLE_HEAD)
    for column in ("mutant", "module", "shown by", "finding"):
        shown.add_column(column)
    for each in blind:
        finding = "lets its engine pass" if each.is_right else "is no mutant"
        shown.add_row(each.name, each.module, each.shown, finding)
    return shown


def _usual(findings: Sequence[Finding]) -> Table:
    """By rule: how many mutants it sees in its own run, and in their witnesses."""
    shown = Table(title="what others see", title_justify="left", box=SIMPLE_HEAD)
    for column in ("check", f"usual run, of {len(findings)}", "witness"):
        shown.add_column(column, justify="left" if column == "check" else "right")
    for rule in (*FIELD_RULES, FIXTURE):
        usual = sum(rule in each.usual for each in findings)
        witness = sum(rule in each.witness for each in findings)
        shown.add_row(rule, str(usual), "" if rule == FIXTURE else str(witness))
    return shown
