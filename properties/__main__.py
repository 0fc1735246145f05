"""The commands: ``python -m properties COMMAND``, of which ``--help`` has a list."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from engine import FileRejected
from properties.chapter import run_chapter
from properties.commanding import (
    FOUND,
    INTERRUPTED,
    OK,
    UNUSABLE,
    Command,
    Run,
    count,
    going,
)
from properties.enumeration import enumerate_all
from properties.failures import kept
from properties.fault_grid import StrikesMissed, require_complete
from properties.fault_report import in_a_line, tables, to_json
from properties.faults import sweep
from properties.inconsistency import Inconsistent
from properties.interrupts import SCENES, HalfDone, sweep_all, swept_table, verdict
from properties.judge import Judge, PropertyFailed
from properties.kills import hunt_kills, kills_table
from properties.laws import LAWS
from properties.measuring import add_measuring
from properties.report import report, trace
from properties.scale import Misplaced, ScalesMissed
from properties.script import ScriptRejected, from_json
from properties.signals import hunt_signals, signals_table
from properties.tables import calls_table
from properties.threads import hunt_threads, threads_table

FAILURES: Final = (
    *(PropertyFailed, StrikesMissed, HalfDone, Inconsistent),
    *(Misplaced, ScalesMissed),
)
"""What a command raises that has found something."""


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    It is 1 if a law is broken, 2 if the command could not run or could not tell, and
    130 if it was interrupted.
    """
    options = _parser().parse_args(arguments)
    run: Run = options.run
    try:
        return run(options)
    except FAILURES as failure:
        notes: list[str] = getattr(failure, "__notes__", [])
        sys.stdout.write("\n".join((str(failure), *notes, "")))
        return FOUND
    except (OSError, FileRejected) as error:  # a full disk, a reader that has gone
        sys.stderr.write(f"{error}\n")
        return UNUSABLE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m properties")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Run, does: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=does, description=does)
        added.set_defaults(run=run)
        return added

    reporting = command(
        "report", _report, "print the chapter's figures, each computed now"
    )
    reporting.add_argument(
        "--trace", action="store_true", help="print the trace behind its diagram"
    )
    _add_judging(command)
    interrupting = command(
        "interrupts", _interrupts, "interrupt every public call at every bytecode"
    )
    interrupting.add_argument(
        "--call",
        choices=SCENES,
        metavar="NAME",
        help=f"this one alone, of {', '.join(SCENES)}",
    )
    _add_counting(command)
    add_measuring(command)
    return parser


def _add_judging(command: Command) -> None:
    """The commands whose scripts are judged, by every law or by one."""
    running = command("run", _run, "judge a script, call by call")
    running.add_argument("script", type=Path, help="a file such as SCRIPT.json")
    enumerating = command("enumerate", _enumerate, "judge every script up to a depth")
    enumerating.add_argument(
        "--depth", type=int, choices=range(1, 7), default=3, help="3, if not told"
    )
    faulting = command(
        "faults", _faults, "fail every point of every call from every start"
    )
    faulting.add_argument(
        "--output",
        type=Path,
        default=Path("cachehound-faults.json"),
        metavar="FILE",
        help="where the matrix is stored; cachehound-faults.json, if not told",
    )
    for judging in (running, enumerating, faulting):
        judging.add_argument(
            "--property", choices=LAWS, help="check this one alone", metavar="ID"
        )


def _add_counting(command: Command) -> None:
    """The commands that go on until so much has happened."""
    signalling = command("signals", _signals, "interrupt a process by real signals")
    killing = command("kills", _kills, "kill a process while it saves")
    threading = command("threads", _threads, "let threads meet")
    for counting, usual, what in (
        (signalling, 5_000, "signals inside a call"),
        (killing, 500, "kills inside a save"),
        (threading, 2_000, "rounds of each thread"),
    ):
        told = f"{what}; {usual}, if not told"
        counting.add_argument(
            "--count", type=count, default=usual, metavar="N", help=told
        )


def _judge(options: argparse.Namespace) -> Judge:
    law: str | None = options.property
    return Judge() if law is None else Judge(laws=(LAWS[law],))


def _report(options: argparse.Namespace) -> int:
    chapter = run_chapter()
    sys.stdout.write(trace(chapter) if options.trace else report(chapter))
    return OK


def _run(options: argparse.Namespace) -> int:
    console, path = Console(), options.script
    try:
        script = from_json(path.read_bytes())
        verdict = _judge(options)(script)
    except (OSError, ScriptRejected) as error:
        return _unusable(path, error)
    except PropertyFailed as failure:
        console.print(calls_table(failure.seen, "calls of the script before it"))
        if failure.closing:
            console.print(calls_table(failure.closing, "calls of the judge before it"))
        raise
    console.print(calls_table(verdict.seen, "calls of the script"))
    console.print(calls_table(verdict.closing, "calls of the judge"))
    struck = {index for index, each in enumerate(verdict.seen) if each.struck}
    for call in sorted({fault.call for fault in script.faults} - struck):
        sys.stdout.write(f"the fault of call {call} struck nothing\n")
    skipped = f"; {verdict.n_skipped} calls skipped" if verdict.n_skipped else ""
    sys.stdout.write(f"no law is broken{skipped}; the digest is {verdict.digest}\n")
    return OK


def _enumerate(options: argparse.Namespace) -> int:
    with kept():
        done = enumerate_all(_judge(options), options.depth)
    sys.stdout.write(
        f"{done.n_geometries} geometries, {done.n_scripts} scripts, {done.n_calls} "
        f"calls in {done.seconds:.1f} s, {done.n_calls / done.seconds:.0f} a second, "
        f"and {done.n_faulty} scripts with a fault in their last call\n"
        f"{len(done.states)} abstract states, {len(done.edges)} edges\n"
    )
    return OK


def _faults(options: argparse.Namespace) -> int:
    console, path = Console(), options.output
    try:
        path.write_text("", encoding="utf-8")  # nor is an older one left, if this fails
    except OSError as error:
        return _unusable(path, error)
    with kept():
        swept = sweep(_judge(options), going=partial(going, "starts"))
    require_complete(swept)
    for table in tables(swept):
        console.print(table)
    sys.stdout.write(in_a_line(swept))
    path.write_text(to_json(swept), encoding="utf-8")
    return OK


def _interrupts(options: argparse.Namespace) -> int:
    names = [options.call] if options.call else list(SCENES)
    going_on = going("calls", names)
    swept = [each for name in going_on for each in sweep_all(names=[name])]
    Console().print(swept_table(swept))
    sys.stdout.write(f"{verdict(swept)}\n")
    return OK


def _signals(options: argparse.Namespace) -> int:
    Console().print(signals_table(hunt_signals(options.count)))
    sys.stdout.write("each left the state before a call, or the one after it\n")
    return OK


def _kills(options: argparse.Namespace) -> int:
    Console().print(kills_table(hunt_kills(options.count)))
    sys.stdout.write("each left the old file or the new one, whole\n")
    return OK


def _threads(options: argparse.Namespace) -> int:
    Console().print(threads_table(hunt_threads(options.count)))
    sys.stdout.write("each call was refused, or gave what it gives alone\n")
    return OK


def _unusable(path: Path, error: Exception) -> int:
    sys.stderr.write(f"{path}: {error}\n")
    return UNUSABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
