"""The commands: ``python -m properties report`` prints the chapter's figures."""

import argparse
import sys

from properties.chapter import run_chapter
from properties.report import report, trace


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m properties")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    reporting = commands.add_parser(
        "report", help="print the chapter's figures, each computed now"
    )
    reporting.add_argument(
        "--trace", action="store_true", help="print the trace behind its diagram"
    )
    options = parser.parse_args(arguments)
    chapter = run_chapter()
    sys.stdout.write(trace(chapter) if options.trace else report(chapter))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
