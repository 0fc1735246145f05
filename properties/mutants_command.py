"""``mutants``: its options, and what it does with them."""

import argparse
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from operator import attrgetter
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track

from properties.finding import Blind, Finding, found, found_blind
from properties.mutants import mutants
from properties.mutants_report import tables, to_json, verdict
from properties.suite_mutants import suite_mutants

_NAME: Final = attrgetter("name")
_WIDTH: Final = 132  # of a file, so that no name is cut


def add_options(parser: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    """Those of the command.

    Args:
        parser: of the command
        count: reads a number of times
    """
    parser.add_argument(
        "--seeds",
        type=count,
        default=1,
        metavar="N",
        help="hunt each mutant with so many seeds; 1, if not told",
    )
    parser.add_argument(
        "--only", type=_known, metavar="NAME", help="hunt this mutant alone"
    )
    parser.add_argument(
        "--jobs",
        type=count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes that hunt at once; as many as there are cores, if not told",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("cachehound-mutants.json"),
        metavar="FILE",
        help="where all is stored; cachehound-mutants.json, if not told",
    )


def _known(text: str) -> str:
    """The name of a mutant, as an option has it; the data is read if there is one."""
    if text not in {*map(_NAME, mutants()), *map(_NAME, suite_mutants())}:
        message = f"there is no mutant {text}"
        raise argparse.ArgumentTypeError(message)
    return text


def hunt_mutants(options: argparse.Namespace) -> bool:
    """Print the tables, and tell whether all is as it must be.

    Raises:
        OSError: what was found cannot be stored.
    """
    path: Path = options.output
    with path.open("a"):  # fails now, not after minutes; and what is there stays
        pass
    only: str | None = options.only
    names = [each.name for each in mutants() if only in {None, each.name}]
    own = [each.name for each in suite_mutants() if only in {None, each.name}]
    fresh = multiprocessing.get_context("spawn")  # a fork would copy threads half-way
    with ProcessPoolExecutor(options.jobs, fresh) as pool:
        seeds = tuple(range(options.seeds))
        hunts = [pool.submit(found, name, seeds) for name in names]
        looks = [pool.submit(found_blind, name) for name in own]
        _wait(pool, [*hunts, *looks])
    findings = [each.result() for each in hunts]
    blind = [each.result() for each in looks]
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    for table in tables(findings, blind):
        console.print(table)
    sys.stdout.write(verdict(findings, blind))
    path.write_text(to_json(findings, blind), encoding="utf-8")
    return all([each.is_right for each in findings] + [each.is_right for each in blind])


def _wait(pool: Executor, works: Sequence[Future[Finding] | Future[Blind]]) -> None:
    """Show how far they are; if one fails, or somebody stops it, begin no other."""
    ended = as_completed(works)
    console = Console(stderr=True)
    try:
        for work in track(
            ended, "mutants", len(works), console=console, transient=True
        ):
            work.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
