"""The commands: ``python -m properties report``, ``run``, ``enumerate``, ``faults``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from properties.chapter import run_chapter
from properties.enumeration import enumerate_all
from properties.fault_report import in_a_line, tables, to_json
from properties.faults import require_complete, sweep
from properties.judge import Judge, PropertyFailed
from properties.laws import LAWS
from properties.report import report, trace
from properties.script import ScriptRejected, from_json
from properties.tables import calls_table

OK, FOUND, UNUSABLE = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 1 if a law is broken, 2 if unusable."""
    options = _parser().parse_args(arguments)
    match options.command:
        case "report":
            chapter = run_chapter()
            sys.stdout.write(trace(chapter) if options.trace else report(chapter))
            return OK
        case "run":
            return _run(options.script, _judge(options.property))
        case "faults":
            return _faults(options.output, _judge(options.property))
        case _:
            return _enumerate(options.depth, _judge(options.property))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m properties")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    reporting = commands.add_parser(
        "report", help="print the chapter's figures, each computed now"
    )
    reporting.add_argument(
        "--trace", action="store_true", help="print the trace behind its diagram"
    )
    running = commands.add_parser("run", help="judge a script, call by call")
    running.add_argument("script", type=Path, help="a file such as SCRIPT.json")
    enumerating = commands.add_parser(
        "enumerate", help="judge every script up to a depth"
    )
    enumerating.add_argument(
        "--depth", type=int, choices=range(1, 7), default=3, help="3, if not told"
    )
    faulting = commands.add_parser(
        "faults", help="fail every point of every call from every start"
    )
    faulting.add_argument(
        "--output",
        type=Path,
        default=Path("cachehound-faults.json"),
        metavar="FILE",
        help="where the matrix is stored; cachehound-faults.json, if not told",
    )
    for command in (running, enumerating, faulting):
        command.add_argument(
            "--property", choices=LAWS, help="check this one alone", metavar="ID"
        )
    return parser


def _judge(law: str | None) -> Judge:
    return Judge() if law is None else Judge(laws=(LAWS[law],))


def _run(path: Path, judge: Judge) -> int:
    console = Console()
    try:
        verdict = judge(from_json(path.read_bytes()))
    except (OSError, ScriptRejected) as error:
        sys.stderr.write(f"{path}: {error}\n")
        return UNUSABLE
    except PropertyFailed as failure:
        console.print(calls_table(failure.seen, "calls of the script before it"))
        if failure.closing:
            console.print(calls_table(failure.closing, "calls of the judge before it"))
        sys.stdout.write(f"{failure}\n")
        return FOUND
    console.print(calls_table(verdict.seen, "calls of the script"))
    console.print(calls_table(verdict.closing, "calls of the judge"))
    skipped = f"; {verdict.n_skipped} calls skipped" if verdict.n_skipped else ""
    sys.stdout.write(f"no law is broken{skipped}; the digest is {verdict.digest}\n")
    return OK


def _enumerate(depth: int, judge: Judge) -> int:
    try:
        done = enumerate_all(judge, depth)
    except PropertyFailed as failure:
        sys.stdout.write(f"{failure}\n")
        return FOUND
    sys.stdout.write(
        f"{done.n_geometries} geometries, {done.n_scripts} scripts, {done.n_calls} "
        f"calls in {done.seconds:.1f} s, {done.n_calls / done.seconds:.0f} a second, "
        f"and {done.n_faulty} scripts with a fault in their last call\n"
        f"{len(done.states)} abstract states, {len(done.edges)} edges\n"
    )
    return OK


def _faults(output: Path, judge: Judge) -> int:
    try:
        swept = sweep(judge)
    except PropertyFailed as failure:
        sys.stdout.write(f"{failure}\n")
        return FOUND
    require_complete(swept)
    console = Console()
    for table in tables(swept):
        console.print(table)
    sys.stdout.write(in_a_line(swept))
    try:
        output.write_text(to_json(swept), encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"{output}: {error}\n")
        return UNUSABLE
    return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
