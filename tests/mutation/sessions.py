"""A session of cosmic-ray: the mutants of a module, and what became of each so far.

Read and written as the SQLite file that it is. The test suite is typed and tested
without cosmic-ray, which only ``make mutation`` needs.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutation.chosen import Places

TIME_LIMIT: Final = 900
"""Seconds by the clock; long before that, the hunt has used up what it may."""
INCOMPETENT: Final = "incompetent"
"""What the hunt says of a mutant that is no Python."""
TIMED_OUT: Final = "timeout"
"""What the hunt and cosmic-ray say of one that does not end."""


class Outcome(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"
    INCOMPETENT = "incompetent"


class Mutant(NamedTuple):
    """One mutant, told by its text: line numbers do not last.

    Attributes:
        scope: the innermost function or class; empty outside
        line: what is taken away, stripped
        mutant: what stands there instead, stripped
    """

    module: str
    scope: str
    line: str
    mutant: str


class Result(NamedTuple):
    """What became of one mutant, and the last line that the hunt told of it."""

    mutant: Mutant
    outcome: Outcome
    told: str


def prepare(session: Path, modules: Sequence[str], root: Path) -> None:
    """Make a session of all mutants that are worth a run, with no results."""
    partial = session.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    config = configured(session, modules)
    cosmic_ray("init", config, partial, root)
    places = {
        each: Places((root / each).read_text(encoding="utf-8")) for each in modules
    }
    with opened(partial) as database:
        silent = [
            (job,)
            for job, module, operator, row, column in database.execute(
                "SELECT job_id, module_path, operator_name, start_pos_row,"
                " start_pos_col FROM mutation_specs"
            ).fetchall()
            if not places[module].are_worth_it(operator, (row, column))
        ]
        forget(database, silent)
    partial.rename(session)


def forget(database: sqlite3.Connection, jobs: Iterable[tuple[str]]) -> None:
    """Take mutants out of a session."""
    jobs = list(jobs)
    database.executemany("DELETE FROM mutation_specs WHERE job_id = ?", jobs)
    database.executemany("DELETE FROM work_items WHERE job_id = ?", jobs)


def configured(session: Path, modules: Sequence[str]) -> Path:
    """Write cosmic-ray's configuration beside a session."""
    config = session.with_suffix(".toml")
    listed = ", ".join(f'"{each}"' for each in modules)
    config.write_text(
        f"[cosmic-ray]\nmodule-path = [{listed}]\ntimeout = {TIME_LIMIT}.0\n"
        f'test-command = "{sys.executable} -m tests.mutation.hunt"\n'
        '[cosmic-ray.distributor]\nname = "local"\n',
        encoding="utf-8",
    )
    return config


def cosmic_ray(command: str, config: Path, session: Path, root: Path) -> None:
    """Run one of its commands inside a copy of the tree."""
    tool = Path(sys.executable).with_name("cosmic-ray")
    subprocess.run([tool, command, config, session], cwd=root, check=True)


def ask_again(session: Path, settled: Iterable[Mutant]) -> None:
    """Forget what became of those that were not killed, but for the settled ones."""
    known = set(settled)
    with opened(session) as database:
        again = [
            (job,)
            for job, result in _rows(database)
            if result.outcome is not Outcome.KILLED and result.mutant not in known
        ]
        database.executemany("DELETE FROM work_results WHERE job_id = ?", again)


def results(session: Path) -> list[Result]:
    """What became of the mutants that were tried."""
    with opened(session) as database:
        return [result for _, result in _rows(database)]


def n_pending(session: Path) -> int:
    """How many mutants were not tried yet."""
    with opened(session) as database:
        counts = database.execute(
            "SELECT (SELECT count(*) FROM work_items)"
            " - (SELECT count(*) FROM work_results)"
        ).fetchone()
    return int(counts[0])


@contextmanager
def opened(session: Path) -> Iterator[sqlite3.Connection]:
    """A session to read and write, closed at the end."""
    with closing(sqlite3.connect(session)) as database, database:
        yield database


def _rows(database: sqlite3.Connection) -> Iterator[tuple[str, Result]]:
    rows = database.execute(
        "SELECT job_id, module_path, definition_name, worker_outcome, test_outcome,"
        " output, diff FROM work_results JOIN mutation_specs USING (job_id)"
    ).fetchall()
    for job, module, scope, worker, test, output, diff in rows:
        told = (output or "").strip().rpartition("\n")[2]
        outcome = _outcome(worker, test, told)
        yield (
            job,
            Result(Mutant(module, scope or "", *changed(diff or "")), outcome, told),
        )


def _outcome(worker: str, test: str | None, told: str) -> Outcome:
    if worker != "NORMAL" or told.startswith(INCOMPETENT):
        return Outcome.INCOMPETENT
    # cosmic-ray counts these as killed. What says nothing was ended by the system.
    if test == "KILLED" and told in {TIMED_OUT, ""}:
        return Outcome.TIMED_OUT
    return _TESTED[test or ""]


_TESTED: Final[Mapping[str, Outcome]] = {
    "KILLED": Outcome.KILLED,
    "SURVIVED": Outcome.SURVIVED,
    "INCOMPETENT": Outcome.INCOMPETENT,
}


def changed(diff: str) -> tuple[str, str]:
    """The line that a diff takes away and the one that it puts there."""
    lines = diff.splitlines()
    taken, put = (
        " ".join(
            line[1:].strip()
            for line in lines
            if line.startswith(sign) and not line.startswith(3 * sign)
        ).strip()
        for sign in "-+"
    )
    return taken, put
