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
from tests.houses import BAD_HOUSES, TOLERATED_HOUSES

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
