"""``mutants``: its options, and what it does with them."""

import argparse
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path

from rich.console import Console
from rich.progress import track

from properties.finding import Finding, found
from properties.mutants import mutants
from properties.mutants_report import tables, to_json, verdict


def add_options(parser: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    """Those of the command.

    Args:
        parser: of the command
        count: reads a number of times
    """
    names = [each.name for each in mutants()]
    parser.add_argument(
        "--seeds",
        type=count,
        default=1,
        metavar="N",
        help="hunt each mutant with so many seeds; 1, if not told",
    )
    parser.add_argument(
        "--only", choices=names, metavar="NAME", help="hunt this mutant alone"
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


def hunt_mutants(options: argparse.Namespace) -> bool:
    """Print the tables, and tell whether all is as it must be.

    Raises:
        OSError: what was found cannot be stored.
    """
    path: Path = options.output
    path.write_text("", encoding="utf-8")  # fails now, not after minutes
    only: str | None = options.only
    names = [each.name for each in mutants()] if only is None else [only]
    findings = _all_found(names, range(options.seeds), options.jobs)
    console = Console()
    for table in tables(findings):
        console.print(table)
    sys.stdout.write(verdict(findings))
    path.write_text(to_json(findings), encoding="utf-8")
    return all(each.is_right for each in findings)


def _all_found(
    names: Sequence[str], seeds: Sequence[int], n_jobs: int
) -> list[Finding]:
    """In the order of the names, in processes of their own."""
    fresh = multiprocessing.get_context("spawn")  # a fork would copy threads half-way
    with ProcessPoolExecutor(n_jobs, fresh) as pool:
        hunts: list[Future[Finding]] = [
            pool.submit(found, name, tuple(seeds)) for name in names
        ]
        try:
            for hunt in track(
                as_completed(hunts),
                "mutants",
                total=len(hunts),
                console=Console(stderr=True),
                transient=True,
            ):
                hunt.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [hunt.result() for hunt in hunts]
