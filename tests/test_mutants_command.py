"""The command that hunts mutants prints, stores and judges what it found."""

import json
from pathlib import Path

import pytest

from properties.__main__ import main
from properties.commanding import OK
from properties.finding import Blind, Finding, Killed, Least, _fails
from properties.mutants import mutants
from properties.mutants_report import to_json, verdict

KILLED = Killed(seed=0, maker="sweep", n_calls=3, seconds=0.5)
LEAST = Least(n_calls=1, seconds=0.25, is_minimal=True, n_lines=12, fails=True)
RIGHT = Finding("wrong", "P1", ("P1", "P2"), (0,), (KILLED,), LEAST, (), ())
BLIND = Blind("blind", "properties.floors", "reach", is_right=True)


def test_one_mutant_is_hunted_shrunk_and_stored(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mutants.json"
    arguments = ["mutants", "--only", "excludes_its_own_key", "--output", str(path)]

    assert main([*arguments, "--seeds", "2", "--jobs", "1"]) == OK
    (stored,) = json.loads(path.read_text())["mutants"]
    assert stored["killer"] in stored["broken"]
    assert [kill["seed"] for kill in stored["kills"]] == [0, 1]
    assert stored["least"]["is_minimal"]
    assert stored["least"]["fails"]
    assert "1 mutants, 2 of 2 hunts found theirs" in capfd.readouterr().out


def test_equivalent_is_right_if_it_survives() -> None:
    equivalent = RIGHT._replace(killer="", broken=(), kills=(), least=None)

    assert equivalent.is_right
    assert not equivalent._replace(kills=(KILLED,)).is_right
    assert not equivalent._replace(broken=("P1",)).is_right


@pytest.mark.parametrize(
    "wrong",
    [
        RIGHT._replace(kills=()),
        RIGHT._replace(broken=("P2",)),
        RIGHT._replace(least=LEAST._replace(is_minimal=False)),
        RIGHT._replace(least=LEAST._replace(fails=False)),
    ],
)
def test_mutant_that_is_not_found_shrunk_and_told_is_named(wrong: Finding) -> None:
    assert RIGHT.is_right
    assert not wrong.is_right
    assert "not as it must be: wrong\n" in verdict([wrong], [])


@pytest.mark.parametrize(
    "text",
    [
        "pass",  # on the mutant too
        'raise AssertionError("P1 logits")',  # on the engine too
        "from engine import nobody",
    ],
)
def test_program_counts_only_if_it_tells_the_mutant_from_the_engine(text: str) -> None:
    (mutant,) = (each for each in mutants() if each.name == "excludes_its_own_key")

    assert not _fails(mutant, text)


def test_suite_that_is_not_blind_is_named() -> None:
    told = verdict([RIGHT], [BLIND, BLIND._replace(name="sees", is_right=False)])

    assert "1 of 2 mutants of the suite let theirs pass\n" in told
    assert told.endswith("not as it must be: sees\n")


def test_what_is_stored_has_all_of_it() -> None:
    stored = json.loads(to_json([RIGHT], [BLIND]))

    assert stored["mutants"][0]["broken"] == ["P1", "P2"]
    assert stored["mutants"][0]["kills"] == [KILLED._asdict()]
    assert stored["mutants"][0]["least"] == LEAST._asdict()
    assert stored["suite"] == [BLIND._asdict()]
