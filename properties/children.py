"""``child``: a process of its own that tells its parent one line after another."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from select import select
from signal import SIGINT
from subprocess import DEVNULL, PIPE, Popen
from tempfile import TemporaryFile
from typing import IO, Final

from properties.inconsistency import Inconsistent

PATIENCE: Final = 300.0
"""Seconds of silence after which a child is held to be lost."""

_ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, eq=False)
class Child:
    """A child that runs."""

    process: Popen[bytes]
    output: IO[bytes]
    errors: IO[bytes]

    def interrupt(self) -> None:
        """Send it what a terminal sends for Ctrl-C."""
        self.process.send_signal(SIGINT)

    def line(self) -> str:
        """The next line that it tells.

        Raises:
            Inconsistent: it has ended, or tells nothing; with what it complained of.
        """
        ready, _, _ = select([self.output], [], [], PATIENCE)
        line = self.output.readline() if ready else b""
        if line.endswith(b"\n"):
            return line.decode().rstrip()
        self.process.kill()
        ended = "ended" if ready else f"was silent for {PATIENCE:.0f} s, and was killed"
        code = self.process.wait()
        self.errors.seek(0)
        complaint = self.errors.read().decode(errors="replace")
        raise Inconsistent(f"a child {ended} with code {code}:\n{complaint}")


@contextmanager
def child(arguments: Sequence[str]) -> Iterator[Child]:
    """Run this interpreter with other arguments; at the end there is no child.

    It is out of reach of the terminal, whose Ctrl-C is for the parent alone.
    """
    with (
        TemporaryFile() as errors,
        Popen(  # noqa: S603 # starts this very interpreter
            [sys.executable, *arguments],
            bufsize=0,  # what select does not see must not wait in a buffer
            cwd=_ROOT,
            start_new_session=True,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=errors,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield Child(process, process.stdout, errors)
        finally:
            process.kill()
