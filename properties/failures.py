"""Where the scripts go that failed, shrunk: a file each, ready to be run again.

Beside each lies another, ``.failure.json``, that tells a machine what the message tells
a person; and a program, ``.py``, that fails in the same way without the hunt.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic_core import to_json as dumped

from properties.first_difference import FirstDifference
from properties.judge import PropertyFailed
from properties.program import ProgramRefused, program
from properties.script import to_json
from properties.shrink import shrunk

FOLDER: Final = Path("cachehound-failures")


@contextmanager
def kept(folder: Path = FOLDER) -> Iterator[None]:
    """Shrink a failure, and write its script and program into files, which it notes.

    Raises:
        PropertyFailed: the smallest script that was found to break the same law.
    """
    try:
        yield
    except PropertyFailed as failure:
        least = shrunk(failure, failure.new_judge)
        _keep(least, folder)
        raise least from least.__cause__


def _keep(failure: PropertyFailed, folder: Path) -> None:
    text = to_json(failure.script)
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = folder / f"{failure.law.id}-{name}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.with_suffix(".failure.json").write_bytes(told(failure))
        failure.add_note(_program_beside(path, failure))
        failure.add_note(f"run it again: python -m properties run {path}")
    except OSError as error:
        failure.add_note(f"the script could not be written: {error}")


def _program_beside(path: Path, failure: PropertyFailed) -> str:
    """Write it, and tell where it is or why there is none: the failure stands."""
    beside = path.with_suffix(".py")
    beside.unlink(missing_ok=True)
    try:
        text = program(failure)
    except ProgramRefused as refusal:
        return f"no program shows it: {refusal}"
    except Exception as error:  # noqa: BLE001 # any engine may leave anything
        return f"writing a program raised {error!r}"
    beside.write_text(text, encoding="utf-8")
    return f"without the hunt: python {beside}"


def told(failure: PropertyFailed) -> bytes:
    """A failure in JSON, without its script; numbers that are none are strings.

    ``first`` has the fields of a ``FirstDifference``, or is null; ``first_told`` is the
    sentence for it, or says why there is none.
    """
    difference, first = failure.broken[failure.law], failure.first
    made = failure.closing if failure.is_closing else failure.seen
    report = {
        "broken": [law.id for law in failure.broken],
        "call": len(made),
        "is_closing": failure.is_closing,
        "where": difference.where,
        "due": str(difference.due),
        "came": str(difference.came),
        "bound": difference.bound,
        "first": first if isinstance(first, FirstDifference) else None,
        "first_told": str(first),
    }
    return dumped(report, indent=2, inf_nan_mode="strings") + b"\n"
