"""All that the hunt finds out about one mutant."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final, NamedTuple

from properties.blindness import lets_pass
from properties.chase import chase
from properties.fresh import planted, run_fresh
from properties.judge import Judge, PropertyFailed
from properties.laws import LAWS
from properties.mutants import Mutant, mutants
from properties.program import ProgramRefused, program
from properties.shrink import is_minimal, shrunk
from properties.subject import Make
from properties.suite_mutants import suite_mutants
from properties.usual import seen_of

INTERRUPTS: Final = "interrupts"
"""Maker of what no script can show: the scene is named, the seed decides nothing."""

N_ROUNDS_SURVIVED: Final = 2
"""Rounds of every maker that a known equivalent has to pass, of each seed."""


class Killed(NamedTuple):
    """One hunt that found it.

    Attributes:
        maker: of the script that did
        n_calls: that were judged until then; 0 of interrupts, which judge none
        seconds: until then
    """

    seed: int
    maker: str
    n_calls: int
    seconds: float


class Least(NamedTuple):
    """The script of the first kill, when nothing more can go.

    Attributes:
        n_calls: that are left in it
        seconds: that shrinking it took
        is_minimal: whether it was looked at once more, and nothing can go
        n_lines: of the program; 0 if there is none
        fails: whether the program fails on the mutant in a fresh process by its killer,
            and passes on the engine
    """

    n_calls: int
    seconds: float
    is_minimal: bool
    n_lines: int
    fails: bool


class Finding(NamedTuple):
    """One mutant, as it was found.

    Attributes:
        name: of the mutant
        killer: that must find it; none of an equivalent
        broken: by its witness, at the call where it shows
        seeds: that were tried
        kills: one for each seed that found it
        least: what is left of the first; none where it was no script
        usual: usual checks that see it in their own run
        witness: usual checks that see it in the witness
    """

    name: str
    killer: str
    broken: tuple[str, ...]
    seeds: tuple[int, ...]
    kills: tuple[Killed, ...]
    least: Least | None
    usual: tuple[str, ...]
    witness: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether all is as it must be: an equivalent survives, all others do not."""
        if not self.killer:
            return not self.broken and not self.kills
        least = self.least
        is_shown = least is None or (least.is_minimal and least.fails)
        is_killed = len(self.kills) == len(self.seeds)
        return self.killer in self.broken and is_killed and is_shown


class Blind(NamedTuple):
    """One mutant of the suite itself.

    Attributes:
        name: of the mutant
        module: that it is of
        shown: by what, of a script and the makers
        is_right: whether it lets its engine pass, and the suite as it is does not
    """

    name: str
    module: str
    shown: str
    is_right: bool


def found_blind(name: str) -> Blind:
    """See whether a mutant of the suite lets its wrong engine pass."""
    (mutant,) = (each for each in suite_mutants() if each.name == name)
    return Blind(name, mutant.module, mutant.shown, lets_pass(mutant))


def found(name: str, seeds: Sequence[int]) -> Finding:
    """Hunt one mutant with each of some seeds, and shrink what the first one finds."""
    (mutant,) = (each for each in mutants() if each.name == name)
    if mutant.scene:
        return _found_by_sweep(mutant, seeds)
    n_rounds = {} if mutant.killer else {"n_rounds": N_ROUNDS_SURVIVED}
    kills = [(seed, chase(_judge_anew(mutant), seed, **n_rounds)) for seed in seeds]
    killed = [(seed, kill) for seed, kill in kills if kill is not None]
    usual = seen_of(mutant)
    return Finding(
        name=name,
        killer=mutant.killer,
        broken=broken(mutant),
        seeds=tuple(seeds),
        kills=tuple(Killed(seed, *kill[:-1]) for seed, kill in killed),
        least=_least(mutant, killed[0][1].failure) if killed else None,
        usual=usual.usual,
        witness=usual.witness,
    )


def broken(mutant: Mutant) -> tuple[str, ...]:
    """The properties that its witness breaks, at the call where it shows."""
    try:
        Judge(mutant.make())(mutant.witness)
    except PropertyFailed as failure:
        return tuple(law.id for law in failure.broken)
    return ()


def _judge_anew(mutant: Mutant) -> Judge:
    """Of the mutant loaded once more: what it remembers, it has forgotten."""
    return _judge_of(mutant, mutant.make())


def _judge_of(mutant: Mutant, make: Make) -> Judge:
    """One that asks the killer alone, or of an equivalent every property."""
    if not mutant.killer:
        return Judge(make)
    return Judge(make, laws=(LAWS[mutant.killer],))


def _found_by_sweep(mutant: Mutant, seeds: Sequence[int]) -> Finding:
    """No script can show it: the scene is swept, to the interrupt that does."""
    kills = []
    for seed in seeds:
        began = perf_counter()
        if mutant.sweep():
            kills.append(Killed(seed, INTERRUPTS, 0, perf_counter() - began))
    return Finding(
        name=mutant.name,
        killer=mutant.killer,
        broken=(mutant.killer,) * bool(kills),
        seeds=tuple(seeds),
        kills=tuple(kills),
        least=None,
        usual=(),
        witness=(),
    )


def _least(mutant: Mutant, failure: PropertyFailed) -> Least:
    """Of one module of the mutant, or of a new one for each script.

    That takes longer, and is needed where a mutant remembers what was before.
    """
    began, make = perf_counter(), mutant.make()
    new_judge = partial(_judge_of, mutant, make)
    least = shrunk(failure, new_judge)
    if not _is_shown_anew(mutant, least):
        new_judge = partial(_judge_anew, mutant)
        least = shrunk(failure, new_judge)
    seconds = perf_counter() - began
    try:
        text = program(least)
    except ProgramRefused:
        text = ""
    return Least(
        n_calls=len(least.script.calls),
        seconds=seconds,
        is_minimal=is_minimal(least, new_judge),
        n_lines=text.count("\n"),
        fails=bool(text) and _fails(mutant, text),
    )


def _is_shown_anew(mutant: Mutant, failure: PropertyFailed) -> bool:
    try:
        _judge_anew(mutant)(failure.script)
    except PropertyFailed:
        return True
    return False


def _fails(mutant: Mutant, text: str) -> bool:
    """Whether a program fails on the mutant, by its killer, and not on the engine."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(text, encoding="utf-8")
        home = planted(mutant, Path(folder) / "home")
        wrong, right = run_fresh(path, home), run_fresh(path)
    told = f"AssertionError: {mutant.killer} "
    return told in wrong.stderr and not right.returncode
