"""Copies of the tree: a mutant is written over its module, and never here."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

from tests.mutation.hunt import ORIGINALS, digest_of

ROOT: Final = Path(__file__).parents[2]
MODULES: Final = Path(__file__).with_name("modules.toml")
_TAKEN: Final = (
    *("engine", "reference", "properties", "tests"),
    *("pyproject.toml", "mypy.ini", "README.md"),
)
_NOT_COPIED: Final = shutil.ignore_patterns("__pycache__", ".*")


def fresh_copy(folder: Path) -> Path:
    """A copy of the tree as it is, that knows what its modules are unmutated."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in _TAKEN:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=_NOT_COPIED)
        else:
            shutil.copy(source, folder)
    # A mutant can be as long and as new as the text before it; a hash tells them apart.
    compiling = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash"]
    subprocess.run([sys.executable, *compiling, "."], cwd=folder, check=True)
    digests = {each: digest_of(folder / each) for each in modules()}
    (folder / ORIGINALS).write_text(json.dumps(digests), encoding="utf-8")
    return folder


def finished() -> list[str]:
    """Modules all of whose mutants were tried, and all survivors reviewed."""
    told = tomllib.loads(MODULES.read_text(encoding="utf-8"))
    listed: list[str] = told["finished"]["modules"]
    return listed


def modules() -> list[str]:
    """Every module that is mutated."""
    told = tomllib.loads(MODULES.read_text(encoding="utf-8"))
    whole = [
        path.relative_to(ROOT).as_posix()
        for package in ("engine", "reference")
        for path in sorted((ROOT / package).rglob("*.py"))
    ]
    return [*whole, *told["suite"]["modules"]]
