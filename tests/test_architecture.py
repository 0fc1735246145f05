"""The house obeys its rules, and each rule rejects a house that was built badly."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.house_rules import (
    House,
    Rule,
    errors_are_raised_in_one_place,
    functions_are_short,
    imports_have_no_cycle,
    imports_point_down,
    modules_are_named_for_their_job,
    modules_are_short,
    packages_name_their_exports_only,
    public_names_have_docstrings,
    silencers_have_code_and_reason,
)

ROOT: Final = Path(__file__).parents[1]
# The word by which the hunts are chosen on the command line.
HUNTS: Final = "properties"

RULES: Final = (
    errors_are_raised_in_one_place,
    functions_are_short,
    imports_have_no_cycle,
    imports_point_down,
    modules_are_named_for_their_job,
    modules_are_short,
    packages_name_their_exports_only,
    public_names_have_docstrings,
    silencers_have_code_and_reason,
)

_ERRORS: Final = '''"""Errors."""
class Family(Exception):
    """A promise."""
class Full(Family):
    """A fact."""
'''
_LONG_FUNCTION: Final = "def f():\n" + 40 * "    pass\n"

BAD_HOUSES: Final[list[tuple[Rule, House, list[str]]]] = [
    (
        imports_point_down,
        {"engine/a.py": "import reference.replay"},
        ["engine.a imports reference.replay"],
    ),
    (
        imports_point_down,
        {"engine/a.py": "def f():\n    from properties import laws"},
        ["engine.a imports properties"],
    ),
    (
        imports_point_down,
        {"engine/layers.py": "", "reference/a.py": "from engine import layers"},
        ["reference.a imports engine.layers"],
    ),
    (
        imports_point_down,
        {"reference/a.py": "from engine import Decoder"},
        ["reference.a imports engine"],
    ),
    (
        imports_point_down,
        {"reference/a.py": "import engine.configuration"},
        ["reference.a imports engine.configuration"],
    ),
    (
        imports_point_down,
        {"reference/a.py": "from ..engine import layers"},
        ["reference.a imports ..engine"],
    ),
    (
        imports_point_down,
        {"properties/a.py": "import tests.golden"},
        ["properties.a imports tests.golden"],
    ),
    (
        imports_have_no_cycle,
        {"engine/a.py": "import engine.b", "engine/b.py": "from engine import a"},
        ["engine.a -> engine.b -> engine.a"],
    ),
    (
        imports_have_no_cycle,
        {"engine/a.py": "def f():\n    import engine.a"},
        ["engine.a -> engine.a"],
    ),
    (
        modules_are_short,
        {"engine/a.py": 251 * "\n"},
        ["engine/a.py has 251 lines"],
    ),
    (
        functions_are_short,
        {"engine/a.py": _LONG_FUNCTION},
        ["engine.a.f has 41 lines"],
    ),
    (
        functions_are_short,
        {"tests/a.py": "class A:\n  async " + _LONG_FUNCTION},
        ["tests.a.f has 41 lines"],
    ),
    (modules_are_named_for_their_job, {"engine/utils.py": ""}, ["engine/utils.py"]),
    (
        modules_are_named_for_their_job,
        {"engine/common/__init__.py": ""},
        ["engine/common/__init__.py"],
    ),
    (
        packages_name_their_exports_only,
        {"engine/__init__.py": '"""Doc."""\nimport a\n__all__ = ["a"]\nX = 1'},
        ["engine/__init__.py:4"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "a = 1  # noqa # the code is missing"},
        ["engine/a.py:1: # noqa # the code is missing"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "\na = 1  # type: ignore[misc]"},
        ["engine/a.py:2: # type: ignore[misc]"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "a = 1  # type: ignore[misc] # noqa: E501"},
        ["engine/a.py:1: # type: ignore[misc] # noqa: E501"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "a = 1  # pragma: no cover"},
        ["engine/a.py:1: # pragma: no cover"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "# ruff: noqa: E501 # the file is generated"},
        ["engine/a.py:1: # ruff: noqa: E501 # the file is generated"],
    ),
    (
        errors_are_raised_in_one_place,
        {"engine/errors/a.py": _ERRORS},
        ["Full is raised at 0 places in engine"],
    ),
    (
        errors_are_raised_in_one_place,
        {
            "engine/errors/a.py": _ERRORS,
            "engine/a.py": "raise Full",
            "engine/b.py": "def f():\n    raise Full(1) from None",
        },
        ["Full is raised at 2 places in engine"],
    ),
    (
        errors_are_raised_in_one_place,
        {
            "engine/errors/a.py": _ERRORS,
            "engine/a.py": "raise Full(1)",
            "reference/a.py": "raise Full(1)\nraise ValueError from errors.Full(2)",
        },
        ["Full is raised at 2 places in reference"],
    ),
    (
        public_names_have_docstrings,
        {"engine/a.py": "def f(): ...\nclass A:\n    def g(self): ..."},
        ["engine.a", "engine.a.f", "engine.a.A", "engine.a.A.g"],
    ),
    (public_names_have_docstrings, {"tests/a.py": "def f(): ..."}, ["tests.a"]),
]

TOLERATED_HOUSES: Final[list[tuple[Rule, House]]] = [
    (
        imports_point_down,
        {"reference/a.py": "from engine.config import DecoderConfig\nimport os"},
    ),
    (
        imports_have_no_cycle,
        {
            "engine/a.py": "if TYPE_CHECKING:\n    import engine.b",
            "engine/b.py": "import engine.a",
        },
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "a = 1  # noqa: E501 # the address is that long"},
    ),
    (
        errors_are_raised_in_one_place,
        {
            "engine/errors/a.py": "class Invalid(ValueError):\n    reason: str",
            "engine/a.py": "raise Invalid('a')\nraise Invalid('b')",
        },
    ),
]


@pytest.fixture(scope="module")
def house() -> House:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for package in ("engine", "reference", HUNTS, "tests")
        for path in sorted((ROOT / package).rglob("*.py"))
    }


@pytest.mark.parametrize("rule", RULES)
def test_house_obeys(rule: Rule, house: House) -> None:
    assert rule(house) == []


@pytest.mark.parametrize(("rule", "bad", "complaints"), BAD_HOUSES)
def test_rule_rejects(rule: Rule, bad: House, complaints: list[str]) -> None:
    assert rule(bad) == complaints


@pytest.mark.parametrize(("rule", "good"), TOLERATED_HOUSES)
def test_rule_tolerates(rule: Rule, good: House) -> None:
    assert rule(good) == []


def test_every_rule_has_a_house_that_it_rejects() -> None:
    assert {rule for rule, _, _ in BAD_HOUSES} == set(RULES)


@pytest.fixture(scope="module")
def chosen() -> list[str]:
    """The test ids that ``pytest -k`` chooses by the hunts' word."""
    listing = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-k", HUNTS],
        cwd=ROOT,
        env=os.environ | {"PYTEST_ADDOPTS": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,  # an empty choice fails too, and should say so below
    )
    return _test_ids(listing.stdout)


def test_hunts_are_chosen_by_their_word(chosen: list[str]) -> None:
    assert chosen


def test_nothing_but_hunts_is_chosen_by_their_word(chosen: list[str]) -> None:
    assert _strangers(chosen) == []


def test_no_file_of_the_tests_has_the_hunts_word() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("*")]

    assert [name for name in names if HUNTS in name] == []


def test_strangers_are_seen() -> None:
    listing = "properties/test_a.py::A::runTest\ntests/test_b.py::test_properties\n\n2"

    assert _strangers(_test_ids(listing)) == ["tests/test_b.py::test_properties"]


def _test_ids(listing: str) -> list[str]:
    return [line for line in listing.splitlines() if "::" in line]


def _strangers(ids: list[str]) -> list[str]:
    return [each for each in ids if not each.startswith(f"{HUNTS}/")]
