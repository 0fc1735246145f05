"""Where the scripts go that failed: a file each, ready to be run again."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from properties.judge import PropertyFailed
from properties.script import to_json

FOLDER: Final = Path("cachehound-failures")


@contextmanager
def kept(folder: Path = FOLDER) -> Iterator[None]:
    """Write the script of a failure into a file, whose name the failure then notes."""
    try:
        yield
    except PropertyFailed as failure:
        text = to_json(failure.script)
        name = hashlib.sha256(text.encode()).hexdigest()[:12]
        path = folder / f"{failure.law.id}-{name}.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            failure.add_note(f"the script could not be written: {error}")
        else:
            failure.add_note(f"run it again: python -m properties run {path}")
        raise
