"""``python -m tests.mutation.hunt``: a fast part of the hunt, for one mutant.

Ends with code 1 at the first thing that is wrong. What kills most comes first: small
scripts in every order, then failing calls, what is stored, what is large, what is
random, and at last the tests of the module itself.
"""

import hashlib
import importlib
import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CalledProcessError
from typing import Final

from tests.mutation.sessions import INCOMPETENT, TIMED_OUT

ORIGINALS: Final = "originals.json"
"""In a copy: what each file is when it is not mutated."""
_MEMORY: Final = 8 * 2**30
"""Bytes: what asks for more is wrong, and must not take the machine with it."""
_SECONDS: Final = 60
"""Of one process at work, whatever else is running: three times what it takes."""


def main(arguments: Sequence[str]) -> int:
    """Hunt in the current folder; the module is found, if it is not told."""
    module = arguments[0] if arguments else mutated(Path())
    try:
        compile(Path(module).read_text(encoding="utf-8"), module, "exec")
    except SyntaxError as error:
        return _told(f"{INCOMPETENT}: {error}")
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    # The system ends the process without a word, which is taken for a time-out.
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS + 1))
    try:
        phases = importlib.import_module("tests.mutation.phases")
    except BaseException as error:  # noqa: BLE001 # any mutant may raise anything
        return _told(f"killed by import: {error!r}")
    for name, phase in phases.phases(module):
        try:
            phase(module)
        except CalledProcessError as error:
            return _told(TIMED_OUT if error.returncode < 0 else f"killed by {name}")
        except BaseException as error:  # noqa: BLE001 # any mutant may raise anything
            return _told(f"killed by {name}: {type(error).__name__}")
    sys.stdout.write("survived\n")
    return 0


def mutated(root: Path) -> str:
    """The one file that is not as it was copied."""
    originals: dict[str, str] = json.loads((root / ORIGINALS).read_text("utf-8"))
    changed = [
        each for each, digest in originals.items() if digest_of(root / each) != digest
    ]
    assert len(changed) == 1, changed
    return changed[0]


def digest_of(path: Path) -> str:
    """What tells one text from another."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _told(verdict: str) -> int:
    sys.stdout.write(f"{verdict}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
