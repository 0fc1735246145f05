"""Running sessions: a worker has a copy of the tree, and takes one after the other."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tests.mutation.copies import ROOT, fresh_copy
from tests.mutation.hunt import digest_of
from tests.mutation.sessions import (
    Outcome,
    configured,
    cosmic_ray,
    n_pending,
    prepare,
    results,
)

BUILD: Final = ROOT / "build" / "mutation"


class Unsound(Exception):
    """The tests of a module fail without a mutant, so that they tell nothing."""


def session_of(module: str) -> Path:
    """Where a module's session is, as long as its text is what it is."""
    name = module.removesuffix(".py").replace("/", ".")
    return BUILD / f"{name}.{digest_of(ROOT / module)[:8]}.sqlite"


def run_each(jobs: Iterable[Callable[[Path], None]], n_workers: int) -> None:
    """Give each job a copy of the tree for itself, several at once.

    Raises:
        Unsound: what the first job to fail raised; those under way were finished.
    """
    copies = SimpleQueue[Path]()
    for number in range(n_workers):
        copies.put(fresh_copy(BUILD / f"copy-{number}"))

    def run(job: Callable[[Path], None]) -> None:
        copy = copies.get()
        try:
            job(copy)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(n_workers) as pool:
        for _ in pool.map(run, jobs):
            pass


def run_module(module: str, copy: Path) -> None:
    """Try the mutants of a module that were not tried yet.

    Raises:
        Unsound: its tests fail without a mutant too; nothing is kept of what they say.
    """
    session = session_of(module)
    if not session.exists():
        prepare(session, [module], copy)
    if n_pending(session):
        cosmic_ray("exec", configured(session, [module]), session, copy)
        # What lives has passed all tests, and shows that they can be passed.
        if all(each.outcome is not Outcome.SURVIVED for each in results(session)):
            _require_sound(module, copy)


def _require_sound(module: str, copy: Path) -> None:
    command = [sys.executable, "-m", "tests.mutation.hunt", module]
    done = subprocess.run(
        command, cwd=copy, capture_output=True, text=True, check=False
    )
    if done.returncode:
        session_of(module).unlink()
        raise Unsound(f"{module} without a mutant:\n{done.stdout}{done.stderr}")
