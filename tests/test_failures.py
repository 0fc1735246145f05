"""A script that failed is kept in a file, ready to be run again."""

from pathlib import Path

import pytest

from properties.failures import FOLDER, kept
from properties.judge import PropertyFailed
from properties.script import from_json
from tests.broken_answers import rounds_logits, tells_the_next_position
from tests.judged import GROWS, failure_of, script_of


def keep(failure: PropertyFailed, folder: Path) -> PropertyFailed:
    with pytest.raises(PropertyFailed) as again, kept(folder):
        raise failure

    assert again.value is failure
    return failure


@pytest.fixture
def failure(monkeypatch: pytest.MonkeyPatch) -> PropertyFailed:
    rounds_logits(monkeypatch)
    return failure_of(script_of(*GROWS))


def test_failing_script_is_written(failure: PropertyFailed, tmp_path: Path) -> None:
    keep(failure, tmp_path / "new")
    (path,) = (tmp_path / "new").iterdir()

    assert path.name.startswith("P1-")
    assert from_json(path.read_bytes()) == failure.script


def test_failure_notes_how_to_run_it_again(
    failure: PropertyFailed, tmp_path: Path
) -> None:
    keep(failure, tmp_path)
    (path,) = tmp_path.iterdir()

    assert failure.__notes__ == [f"run it again: python -m properties run {path}"]


def test_same_failure_is_one_file_and_another_is_another(
    failure: PropertyFailed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(failure, tmp_path)
    keep(failure, tmp_path)
    keep(failure_of(script_of(GROWS[0])), tmp_path)
    monkeypatch.undo()
    tells_the_next_position(monkeypatch)
    keep(failure_of(script_of(*GROWS)), tmp_path)

    assert sorted(each.name[:2] for each in tmp_path.iterdir()) == ["P1", "P1", "S1"]


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
