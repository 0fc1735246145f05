"""A line of the suite made blind lets an engine pass that the suite rejects."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from properties.blindness import lets_pass, rejects
from properties.mutants import MutantRejected
from properties.suite_mutants import SuiteMutant, suite_mutants

ALL: Final = {each.name: each for each in suite_mutants()}
ONCE: Final = {
    (
        each.shown,
        each.call,
        each.start,
        each.witness if each.shown in {"script", "reach"} else None,
    ): each.name
    for each in suite_mutants()
}
"""By what it is judged by: the engine as it is need not be judged by that twice."""

KEEPS_NO_ANSWERS: Final = ALL["keeps_no_answers"]
CEILING: Final = ALL["takes_a_floor_for_a_ceiling"]
ANY_CELL: Final = ALL["counts_all_cells_for_each"]


def once_more(mutant: SuiteMutant) -> SuiteMutant:
    """Its script with the last call repeated."""
    calls = mutant.witness.calls
    witness = mutant.witness.model_copy(update={"calls": (*calls, calls[-1])})
    return mutant.model_copy(update={"witness": witness})


NOT_BLIND: Final = {
    "an engine that is right": KEEPS_NO_ANSWERS.model_copy(
        update={"engine": "seeds_a_second_generator_by_the_first"}
    ),
    "a suite that rejects both": ANY_CELL.model_copy(
        update={"floors": (("copy", "done"),)}
    ),
    "a line that sees": KEEPS_NO_ANSWERS.model_copy(
        update={"replacement": KEEPS_NO_ANSWERS.line}
    ),
    "a line that rejects the engine alone": once_more(CEILING),
}
"""Each fails by one thing of the four that are asked."""


@pytest.mark.parametrize("name", ONCE.values())
def test_suite_passes_the_engine(name: str) -> None:
    assert not rejects(ALL[name], is_blind=False, is_right=True)


@pytest.mark.parametrize("name", ALL)
def test_suite_rejects_the_wrong_engine(name: str) -> None:
    assert rejects(ALL[name], is_blind=False, is_right=False)


@pytest.mark.parametrize("name", ALL)
def test_mutant_passes_the_engine(name: str) -> None:
    assert not rejects(ALL[name], is_blind=True, is_right=True)


@pytest.mark.parametrize("name", ALL)
def test_mutant_lets_the_wrong_engine_pass(name: str) -> None:
    assert not rejects(ALL[name], is_blind=True, is_right=False)


def test_what_is_blind_lets_pass() -> None:
    assert lets_pass(KEEPS_NO_ANSWERS)


@pytest.mark.parametrize("told", NOT_BLIND)
def test_what_is_not_blind_lets_nothing_pass(told: str) -> None:
    assert not lets_pass(NOT_BLIND[told])


def test_broken_invariant_is_no_verdict() -> None:
    broken = KEEPS_NO_ANSWERS.model_copy(
        update={"replacement": "assert not moment, 38"}
    )

    with pytest.raises(AssertionError, match="38"):
        rejects(broken, is_blind=True, is_right=True)


def test_real_modules_stay() -> None:
    before = project_modules()

    assert not rejects(KEEPS_NO_ANSWERS, is_blind=True, is_right=False)

    assert project_modules() == before
    assert rejects(KEEPS_NO_ANSWERS, is_blind=False, is_right=False)


def project_modules() -> Mapping[str, tuple[ModuleType, Mapping[str, object]]]:
    """Every module of the project, and what is in it now."""
    packages = {"engine", "reference", "properties"}
    return {
        name: (module, {**vars(module)})
        for name, module in sys.modules.items()
        if name.partition(".")[0] in packages
    }


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('engine = "nobody"', "no engine is called nobody"),
        ('engine = "returns_one_buffer_of_logits"\nshown = "x"', "shown: "),
        (
            'engine = "returns_one_buffer_of_logits"\ncall = "x"',
            "two mutants are",
        ),
    ],
    ids=["an engine of no name", "shown by nothing", "two of one name"],
)
def test_what_is_no_mutant_is_refused(
    lines: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = (
        '[[mutant]]\nname = "a"\nsays = ""\nmodule = ""\nline = ""\nreplacement = ""'
    )
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "two.toml").write_text(2 * f"{table}\n{lines}\n")
    monkeypatch.setattr("properties.suite_mutants.FOLDER", tmp_path)

    with pytest.raises(MutantRejected, match=says):
        suite_mutants.__wrapped__()
