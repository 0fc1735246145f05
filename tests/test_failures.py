"""A script that failed is kept in a file, ready to be run again."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from properties.calls import Reset
from properties.failures import FOLDER, kept, told
from properties.first_difference import FirstDifference
from properties.judge import Judge, PropertyFailed
from properties.program import program
from properties.script import from_json
from properties.shrink import shrunk
from tests.black_boxes import make, rounds_its_logits
from tests.broken_answers import (
    is_full_one_row_early,
    rounds_logits,
    tells_the_next_position,
)
from tests.judged import GROWS, failure_of, script_of
from tests.programs import message_of


def keep(failure: PropertyFailed, folder: Path) -> PropertyFailed:
    with pytest.raises(PropertyFailed) as again, kept(folder):
        raise failure

    assert again.value.law is failure.law
    return again.value


def script_in(folder: Path) -> Path:
    (beside,) = folder.glob("*.failure.json")
    return beside.with_name(beside.name.replace(".failure", ""))


def beside(path: Path) -> Path:
    return path.with_suffix(".failure.json")


@pytest.fixture
def failure(monkeypatch: pytest.MonkeyPatch) -> PropertyFailed:
    rounds_logits(monkeypatch)
    return shrunk(failure_of(script_of(*GROWS)), Judge)


def test_failure_is_shrunk_before_it_is_kept(
    failure: PropertyFailed, tmp_path: Path
) -> None:
    kept_one = keep(failure_of(script_of(*GROWS, Reset(), *GROWS)), tmp_path)

    assert (
        kept_one.script == failure.script == from_json(script_in(tmp_path).read_bytes())
    )


def test_failing_script_is_written(failure: PropertyFailed, tmp_path: Path) -> None:
    keep(failure, tmp_path / "new")
    path = script_in(tmp_path / "new")

    assert path.name.startswith("P1-")
    assert from_json(path.read_bytes()) == failure.script


def test_failure_notes_how_to_run_it_again(
    failure: PropertyFailed, tmp_path: Path
) -> None:
    keep(failure, tmp_path)
    path = script_in(tmp_path)

    assert failure.__notes__ == [
        f"without the hunt: python {path.with_suffix('.py')}",
        f"run it again: python -m properties run {path}",
    ]


def test_same_failure_is_one_file_and_another_is_another(
    failure: PropertyFailed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(failure, tmp_path)
    keep(failure, tmp_path)
    keep(failure_of(script_of(GROWS[0])), tmp_path)
    monkeypatch.undo()
    tells_the_next_position(monkeypatch)
    keep(failure_of(script_of(*GROWS)), tmp_path)

    names = sorted(each.name[:2] for each in tmp_path.iterdir())
    assert names == [*3 * ["P1"], *3 * ["S1"]]


def test_failure_is_told_in_json_beside_its_script(
    failure: PropertyFailed, tmp_path: Path
) -> None:
    keep(failure, tmp_path)
    told = json.loads(beside(script_in(tmp_path)).read_bytes())
    first = told["first"]

    assert (told["broken"][0], told["call"], told["is_closing"]) == ("P1", 0, True)
    assert (told["where"], told["due"]) == (
        "the newest logits at [0]",
        str(first["due"]),
    )
    assert FirstDifference(**first) == failure.first
    assert told["first_told"] == str(failure.first)


def test_failure_without_a_number_is_told_in_json(
    failure: PropertyFailed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # it does not come again
    keep(failure, tmp_path)
    told = json.loads(beside(script_in(tmp_path)).read_bytes())

    assert (told["first"], told["first_told"]) == (None, str(failure.first))


def test_number_that_is_none_is_a_string_in_json(failure: PropertyFailed) -> None:
    first = failure.first
    assert isinstance(first, FirstDifference)
    failure.first = replace(first, came=math.nan)

    assert json.loads(told(failure))["first"]["came"] == "NaN"


def test_call_of_the_judge_is_counted_apart_in_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_full_one_row_early(monkeypatch)
    report = json.loads(told(failure_of(script_of(*GROWS))))

    assert (report["broken"], report["call"]) == (["S2"], 0)
    assert report["is_closing"]
    assert report["bound"] is None


def test_program_is_written_beside_its_script(
    failure: PropertyFailed, tmp_path: Path
) -> None:
    keep(failure, tmp_path)
    text = script_in(tmp_path).with_suffix(".py").read_text()

    assert text == program(failure)
    assert message_of(text).startswith("P1 logits, the newest logits at [0]: due ")


def test_failure_without_a_program_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds_its_logits(monkeypatch)
    boxed = keep(failure_of(script_of(*GROWS), Judge(make)), tmp_path)

    assert boxed.__notes__[0] == (
        "no program shows it: the engine is none that a program can import"
    )
    assert list(tmp_path.glob("*.py")) == []


def test_failure_stands_whatever_becomes_of_its_program(
    failure: PropertyFailed, tmp_path: Path
) -> None:
    keep(failure, tmp_path)
    wrong = replace(failure.broken[failure.law], place=("work", 0))  # it is none
    failure.broken = {failure.law: wrong}
    keep(failure, tmp_path)

    assert failure.__notes__[2].startswith("writing a program raised AssertionError(")
    assert list(tmp_path.glob("*.py")) == []  # the old one would be of another failure


def test_nothing_is_kept_of_what_is_no_failure(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="other"), kept(tmp_path):
        raise AssertionError("other")
    with kept(tmp_path):
        pass

    assert list(tmp_path.iterdir()) == []


def test_folder_is_beside_the_run(
    failure: PropertyFailed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PropertyFailed), kept():
        raise failure

    assert [each.name for each in tmp_path.iterdir()] == [FOLDER.name]
