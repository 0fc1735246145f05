"""The hunts' settings, whatever Hypothesis makes of its surroundings."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from properties.plugin import PROFILES, length_of_hunt

ROOT: Final = Path(__file__).parents[1]

SHOWN = """
from hypothesis import settings
from properties.plugin import length_of_hunt
if {profile!r}:
    settings.load_profile({profile!r})
chosen = length_of_hunt().machine
print(chosen.max_examples, chosen.derandomize, chosen.database is None,
      chosen.deadline, len(chosen.suppress_health_check))
"""


def shown_settings(profile: str, ci: str) -> str:
    """The settings of a hunt in a new process."""
    environment = {**os.environ, "CI": ci}
    command = [sys.executable, "-c", SHOWN.format(profile=profile)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("ci", ["", "1", "true"])
@pytest.mark.parametrize(
    ("profile", "examples"), [("", 350), ("quick", 35), ("deep", 3_500)]
)
def test_hunts_run_on_fresh_seeds_and_keep_what_failed(
    profile: str, examples: int, ci: str
) -> None:
    assert shown_settings(profile, ci) == f"{examples} False False None 0"


def test_hunt_is_default_when_another_profile_is_loaded() -> None:
    assert shown_settings("ci", "") == "350 False False None 0"


def test_hunt_follows_the_profile_of_this_run() -> None:
    assert length_of_hunt() in PROFILES.values()


def collected(law: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "properties", "--collect-only", "-q"]
    return subprocess.run(
        [*command, "--property", law],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("law", "files"),
    [
        ("A3", {"test_interrupts.py"}),
        ("A1", {"test_hunt.py", "test_faults.py", "test_scale.py"}),
    ],
)
def test_one_law_is_hunted_by_those_that_ask_it(law: str, files: set[str]) -> None:
    lines = [line for line in collected(law).stdout.splitlines() if "::" in line]

    assert {Path(line.partition("::")[0]).name for line in lines} == files


def test_law_that_there_is_not_is_refused() -> None:
    run = collected("P99")

    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "P99 is none of " in run.stderr
