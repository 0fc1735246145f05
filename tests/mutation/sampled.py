"""A few mutants of finished modules: each must be killed, or be in the list."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from tests.mutation.copies import finished, fresh_copy
from tests.mutation.runs import BUILD, run_each
from tests.mutation.sessions import (
    Mutant,
    Result,
    ask_again,
    configured,
    cosmic_ray,
    forget,
    opened,
    prepare,
    results,
)

MORE: Final = 3
"""Hunts of what survived the first one: a kill by chance may take more than one."""


def sampled(
    n_mutants: int, seed: int, n_workers: int, settled: Sequence[Mutant]
) -> list[Result]:
    """What becomes of so many mutants, chosen with a seed.

    Args:
        n_mutants: how many
        seed: decides which
        n_workers: how many are tried at once
        settled: of which one hunt is enough
    """
    copy = fresh_copy(BUILD / "copy-0")
    sessions = [BUILD / f"sample-{worker}.sqlite" for worker in range(n_workers)]
    for session in sessions:
        session.unlink(missing_ok=True)
    prepare(sessions[0], finished(), copy)
    chosen = _chosen(sessions[0], n_mutants, seed)
    everything = sessions[0].read_bytes()
    for worker, session in enumerate(sessions):
        session.write_bytes(everything)
        _keep(session, chosen[worker::n_workers])
    run_each([partial(_run, session, settled) for session in sessions], n_workers)
    return [each for session in sessions for each in results(session)]


def _chosen(session: Path, n_mutants: int, seed: int) -> list[str]:
    with opened(session) as database:
        jobs = database.execute(
            "SELECT job_id FROM mutation_specs ORDER BY module_path, operator_name,"
            " occurrence"
        ).fetchall()
    draws = Random(seed)  # noqa: S311 # repeatable by its seed, and no secret
    return draws.sample([job for (job,) in jobs], n_mutants)


def _keep(session: Path, kept: Sequence[str]) -> None:
    with opened(session) as database:
        jobs = database.execute("SELECT job_id FROM work_items").fetchall()
        forget(database, (job for job in jobs if job[0] not in set(kept)))


def _run(session: Path, settled: Sequence[Mutant], copy: Path) -> None:
    configuration = configured(session, finished())
    cosmic_ray("exec", configuration, session, copy)
    for _ in range(MORE):
        ask_again(session, settled)
        cosmic_ray("exec", configuration, session, copy)
