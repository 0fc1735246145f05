"""``python -m tests.mutation``: mutate modules, and see whether the suite notices.

Each module has a session in ``build/mutation``; a run that was stopped goes on where it
was. What survived and is not explained is tried again each time.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from secrets import randbits
from typing import Final

from tests.mutation.copies import modules
from tests.mutation.reviewed import (
    Review,
    Score,
    reviews,
    rotten,
    score,
    total,
    unexplained,
)
from tests.mutation.runs import BUILD, Unsound, run_each, run_module, session_of
from tests.mutation.sampled import sampled
from tests.mutation.sessions import Result, ask_again, n_pending, results

_ROW: Final = "{:42} {:>7} {:>6} {:>8} {:>9} {:>11} {:>7} {:>8} {:>8}"


def main(arguments: Sequence[str]) -> int:
    """Run, print the scores, and return 1 if a survivor is not explained."""
    options = _parser().parse_args(arguments)
    # More threads than one are slower beside another worker.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    BUILD.mkdir(parents=True, exist_ok=True)
    known = reviews()
    chosen: list[str] = options.module or modules()
    try:
        if options.sample:
            return _sample(options.sample, options.seed, options.workers, known)
        if not options.show:
            _run(chosen, options.workers, known)
    except Unsound as error:
        _say(str(error))
        return 2
    except FileNotFoundError as error:
        _say(str(error), "cosmic-ray comes with the extra: pip install '.[mutation]'")
        return 2
    return _told(chosen, known)


def _run(chosen: Iterable[str], n_workers: int, known: Iterable[Review]) -> None:
    settled = [each.mutant for each in known]
    for module in chosen:
        if session_of(module).exists():
            ask_again(session_of(module), settled)
    run_each([partial(run_module, module) for module in chosen], n_workers)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument(
        "module", nargs="*", help="engine/row.py, for instance; all if not told"
    )
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="how many at once"
    )
    parser.add_argument(
        "--show", action="store_true", help="run nothing, show what is known"
    )
    parser.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help="try N mutants of finished modules instead",
    )
    parser.add_argument(
        "--seed", type=int, default=randbits(32), help="which ones; a new one each time"
    )
    return parser


def _sample(n_mutants: int, seed: int, n_workers: int, known: list[Review]) -> int:
    _say(f"seed {seed}")
    came = sampled(n_mutants, seed, n_workers, [each.mutant for each in known])
    _say(_HEADER, _in_a_row(score("sample", came, known)))
    return _complaints(unexplained(came, known), [])


def _told(chosen: Iterable[str], known: list[Review]) -> int:
    """Tell what became of the mutants of each module."""
    came, scores, gone = list[Result](), list[Score](), list[Review]()
    for module in chosen:
        session = session_of(module)
        if not session.exists() or n_pending(session):
            _say(f"{module}: not done")
            continue
        done = results(session)
        came += done
        scores.append(score(module, done, known))
        gone += rotten(module, done, known)
    _say(_HEADER, *map(_in_a_row, scores))
    packages = dict.fromkeys(each.module.partition("/")[0] for each in scores)
    for package in packages:
        ours = [each for each in scores if each.module.startswith(f"{package}/")]
        _say(_in_a_row(total(ours, package)))
    return _complaints(unexplained(came, known), gone)


def _complaints(alive: Sequence[Result], gone: Sequence[Review]) -> int:
    for result in alive:
        mutant = result.mutant
        _say(f"\n{mutant.module}, {mutant.scope}: {result.outcome}")
        _say(f"  - {mutant.line}", f"  + {mutant.mutant}")
    for review in gone:
        mutant = review.mutant
        _say(f"\n{mutant.module}, {mutant.scope}: reviewed, and no mutant of it")
        _say(f"  - {mutant.line}", f"  + {mutant.mutant}")
    _say(f"\n{len(alive)} not explained, {len(gone)} reviewed that there are not")
    return 1 if alive or gone else 0


_HEADER: Final = _ROW.format(
    *("module", "mutants", "killed", "survived", "timed out", "incompetent"),
    *("raw", "detected", "adjusted"),
)


def _in_a_row(each: Score) -> str:
    counts = each.n, each.killed, each.survived, each.timed_out, each.incompetent
    shares = (f"{share:.1%}" for share in (each.raw, each.detected, each.adjusted))
    return _ROW.format(each.module, *counts, *shares)


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join((*lines, "")))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
