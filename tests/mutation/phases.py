"""What the hunt for a mutant consists of, in its order."""

import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import chain, cycle, islice
from pathlib import Path
from secrets import randbelow
from typing import Final, TypeAlias

from hypothesis import Phase as Stage, settings

from properties.cells import CALLS, CONFIG, MODES, starts
from properties.enumeration import enumerate_all
from properties.extremes import extreme_sweep
from properties.geometry import position_sweep
from properties.hunting import hunt
from properties.judge import Judge
from properties.plugin import PROFILES
from properties.points import n_points
from properties.requests import request_sweep
from properties.scale import sweep as sweep_scales
from properties.scaled import scaled_scripts
from properties.script import FAULTS, Fault, from_json
from tests.mutation.copies import MODULES

Phase: TypeAlias = Callable[[str], None]

_MACHINE: Final = settings(
    PROFILES["quick"].machine,
    database=None,
    max_examples=16,
    phases=(Stage.generate,),  # one failure is enough, however long it is
)
_SHORT: Final = 34  # positions; the sweep goes on to 258
_FAULTS_STRIDE: Final = 30
_SCALE_STRIDE: Final = 150
_GOLDEN_STRIDE: Final = 6

_TOLD: Final = tomllib.loads(MODULES.read_text(encoding="utf-8"))


def _enumeration(_module: str) -> None:
    enumerate_all(Judge(), 2)


def _positions(_module: str) -> None:
    judge = Judge()
    for script in position_sweep():
        if script.config.capacity <= _SHORT:
            judge(script)


def _faults(_module: str) -> None:
    """Some point of every call from every start, each in another way."""
    judge, offset = Judge(), randbelow(_FAULTS_STRIDE)
    ways = cycle((mode, raises) for raises in FAULTS for mode in MODES)
    for call in CALLS:
        for start in starts(call):
            points = range(offset, n_points(CONFIG, call), _FAULTS_STRIDE)
            for point, (mode, raises) in zip(points, ways, strict=False):
                fault = Fault(call=len(start.calls), point=point, raises=raises)
                judge(mode.scripted(start, call, fault))


def _corpus(_module: str) -> None:
    """What failed once, and some of the recorded sessions, which are alike."""
    judge, offset = Judge(), randbelow(_GOLDEN_STRIDE)
    paths = sorted((files("properties") / "corpus").iterdir(), key=str)
    golden = [path for path in paths if path.name.startswith("golden")]
    failed = [path for path in paths if path not in golden]
    for path in (*failed, *golden[offset::_GOLDEN_STRIDE]):
        judge(from_json(path.read_bytes()))


def _requests(_module: str) -> None:
    """Every argument at its edges, and numbers too large, or none."""
    judge = Judge()
    for script in chain(request_sweep(), extreme_sweep()):
        judge(script)


def _scales(_module: str) -> None:
    offset = randbelow(_SCALE_STRIDE)
    sweep_scales(Judge(), islice(scaled_scripts(), offset, None, _SCALE_STRIDE))


def _machine(_module: str) -> None:
    hunt(Judge, lambda _verdict: None, _MACHINE)


def _own_tests(module: str) -> None:
    """The files that are named after it, or told for it."""
    _run_tests(own_tests(module))


def _kind_tests(module: str) -> None:
    """The other files of its package."""
    own, all_of_them = own_tests(module), _TOLD["kinds"][Path(module).parts[0]]
    _run_tests([each for each in all_of_them if each not in own])


def own_tests(module: str) -> list[str]:
    """The files that test this module first of all."""
    named = Path("tests") / f"test_{Path(module).stem}.py"
    told = _TOLD["own"].get(module, ())
    return [*([str(named)] if named.exists() else ()), *told]


def _run_tests(paths: list[str]) -> None:
    """Stop at the first that fails; in a process of their own, as pytest wants it."""
    options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider"]
    quick = ["--hypothesis-profile", "quick"]
    command = [sys.executable, "-m", "pytest", *options, *quick, *paths]
    if paths:
        subprocess.run(command, stdout=sys.stderr, check=True)


def phases(module: str) -> Iterator[tuple[str, Phase]]:
    """What to do for a module, in order: what kills most soonest comes first."""
    is_hunted = module not in _TOLD["unhunted"]["modules"]
    if is_hunted:
        yield "enumeration", _enumeration
    yield "its tests", _own_tests
    if is_hunted:
        yield "requests", _requests
        yield "positions", _positions
        yield "faults", _faults
        yield "scales", _scales
        yield "machine", _machine
        yield "corpus", _corpus
    yield "other tests", _kind_tests
