"""A program in a process of its own, on the engine or on a mutant of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import engine
from properties.mutants import Mutant

PATIENCE: Final = 300.0
"""Seconds after which a program is held to be lost."""

_ENGINE: Final = Path(engine.__file__).parent


def planted(mutant: Mutant, folder: Path) -> Path:
    """A copy of the engine in an empty folder, with one line made wrong."""
    shutil.copytree(_ENGINE, folder / _ENGINE.name)
    path = folder.joinpath(*mutant.module.split(".")).with_suffix(".py")
    path.write_text(mutant.text(), encoding="utf-8")
    return folder


def run_fresh(
    program: Path, home: Path = _ENGINE.parent
) -> subprocess.CompletedProcess[str]:
    """Run a program on the engine that lies in a folder; on this one, if not told."""
    return subprocess.run(  # noqa: S603 # this interpreter, and a program of our own
        [sys.executable, str(program)],
        env=os.environ | {"PYTHONPATH": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
