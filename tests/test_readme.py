"""What the README says that a machine can try."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from engine import errors
from properties.cells import CALLS, n_cells, starts
from properties.fault_grid import reachable
from properties.hostile.calls import PLACES
from properties.hostile.damage import DAMAGES
from properties.hostile.judging import KINDS
from properties.laws import LAWS
from properties.mutants import OWN, mutants
from properties.script import FAULTS
from properties.suite_mutants import suite_mutants
from tests.test_laws import WITNESSES

TEXT: Final = (Path(__file__).parents[1] / "README.md").read_text()
SET_UP: Final = "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && "
SWEPT: Final = (
    "A3 interrupt",
    "A call that is interrupted at any bytecode happened, or did not",
    "stores values one by one",
)
CAUSES: Final = {"NonFinite", "ZeroEnergyRow"}
"""Never raised out of a call: they say why a stage failed."""


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def leaves() -> dict[str, tuple[str, ...]]:
    """Every error class that has no subclass, with its fields."""
    classes = [getattr(errors, name) for name in errors.__all__]
    return {
        each.__name__: each.__match_args__
        for each in classes
        if "__match_args__" in vars(each)
    }


def test_readme_begins_with_the_two_commands() -> None:
    assert blocks("bash") == [
        f"{SET_UP}.venv/bin/pytest -k properties\n",
        f"{SET_UP}.venv/bin/pytest\n",
    ]


def test_readme_example_prints_what_it_says() -> None:
    example, _ = blocks("python")
    printed = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, check=True
    ).stdout
    differences, counts = printed.rstrip().rsplit("\n", 1)

    assert example.count("\n") <= 13
    assert counts == "3 24"
    assert any(block.endswith(f"\n{counts}\n") for block in blocks("text"))
    figures = [float(each) for each in differences.strip("[ ]").split()]
    assert all(abs(figure) <= 2e-12 for figure in figures)


def test_readme_engine_is_judged() -> None:
    _, example = blocks("python")
    printed = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, check=True
    ).stdout

    assert printed == "['done', 'done', 'done', 'done']\n"
    assert f"\n```text\n{printed}```\n" in TEXT


def test_readme_has_every_law_with_the_engine_that_it_rejects() -> None:
    witnesses = {each.law: each.breaks.__name__ for each in WITNESSES}
    table = {
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in TEXT.splitlines()
        if re.match(r"\| [A-Z]\d ", line)
    }

    assert table == {
        (
            f"{law.id} {law.name}",
            law.says.removesuffix("."),
            f"*redundant*: {law.redundant}"
            if law.redundant
            else witnesses[law.id].replace("_", " "),
        )
        for law in LAWS.values()
    } | {SWEPT}


def test_readme_has_every_error_with_its_fields() -> None:
    rows = re.findall(r"^\|.*?\| `(\w+)\((.*?)\)` \|", TEXT, re.MULTILINE)
    table = {name: tuple(filter(None, fields.split(", "))) for name, fields in rows}

    assert table == {
        name: fields for name, fields in leaves().items() if name not in CAUSES
    }
    assert all(f"`{name}(" in TEXT for name in CAUSES)


def test_readme_counts_mutants() -> None:
    killed = [each for each in mutants() if each.killer]
    reports = {each.report for each in killed} - {OWN}
    n_cited = sum(each.report != OWN for each in killed)
    projects = {report.partition("#")[0] for report in reports}
    told = " ".join(TEXT.split())
    rows = re.findall(r"`([A-Z]\d)` \| (\d+) \|", TEXT)

    assert (
        f"{len(killed)} mutants have a killer, {n_cited} of them rebuilt from "
        f"{len(reports)} public reports in {len(projects)} projects, each named; "
        f"{len(mutants()) - len(killed)} are equivalents"
    ) in told
    assert f"{len(suite_mutants())} lines of judge" in told
    assert {law: int(n) for law, n in rows} == Counter(each.killer for each in killed)


def test_readme_has_no_gap() -> None:
    assert "@@" not in TEXT


def test_readme_has_the_matrix_of_faults() -> None:
    counts = Counter((call, start) for call, start, _ in reachable())
    times = n_cells(len(FAULTS))
    due = {
        (call.call, start.name): (
            f"`{start.refusal}`"
            if start.refusal
            else f"{times * counts[call.call, start.name]:,}"
        )
        for call in CALLS
        for start in starts(call)
    }
    rows = re.findall(r"^\| (.*) \| (.*) \| (.*) \| (.*) \|$", TEXT, re.MULTILINE)
    table = {
        (call.call, name): cell
        for name, *cells in rows
        for call, cell in zip(CALLS, cells, strict=True)
        if (call.call, name) in due
    }

    assert table == due
    assert f"{times * counts.total():,} cells" in TEXT


def test_readme_counts_what_is_hostile() -> None:
    told = " ".join(TEXT.split())

    assert f"{len(KINDS)} kinds of value for each of {len(PLACES)} arguments" in told
    assert f"{len(DAMAGES)} kinds of damage to a saved file" in told
