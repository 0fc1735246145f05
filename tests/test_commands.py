"""What the commands print, and with which code they end."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from properties.__main__ import main
from properties.alphabets import GEOMETRIES
from properties.calls import Bind, Call, Decode
from properties.commanding import FOUND, OK, UNUSABLE
from properties.failures import kept
from properties.judge import Judge, PropertyFailed
from properties.script import to_json
from tests.broken_answers import rounds_logits
from tests.judged import GROWS, script_of

ROOT: Final = Path(__file__).parents[1]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path, *GROWS)


def written(folder: Path, *calls: Call) -> Path:
    path = folder / "script.json"
    path.write_text(to_json(script_of(*calls)), encoding="utf-8")
    return path


def test_codes_are_zero_one_and_two() -> None:
    assert (OK, FOUND, UNUSABLE) == (0, 1, 2)


def test_run_shows_calls_and_digest(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # so that no line is broken
    path = written(tmp_path, *GROWS, Decode(token_id=5))
    code = main(["run", str(path)])
    shown = capsys.readouterr().out

    assert code == OK
    assert "DecodeTokenOutOfRange" in shown
    _, given, added = re.split("calls of the (?:script|judge)", shown)
    assert ("Decode(token_id=5)" in given, "Decode(token_id=5)" in added) == (
        True,
        False,
    )
    assert "Decode(token_id=4)" in added
    digest = Judge()(script_of(*GROWS, Decode(token_id=5))).digest
    assert shown.endswith(f"no law is broken; the digest is {digest}\n")


def test_run_shows_what_is_broken(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds_logits(monkeypatch)
    code = main(["run", str(file)])
    shown = capsys.readouterr().out

    assert code == FOUND
    assert "calls of the script before it" in shown
    assert "P1 logits: call 0, Prefill(prompt=(0, 1))\n" in shown
    assert shown.endswith(to_json(script_of(*GROWS)) + "\n")


@pytest.mark.parametrize(("law", "code"), [("P1", FOUND), ("S1", OK)])
def test_run_asks_one_law_alone(
    law: str, code: int, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds_logits(monkeypatch)

    assert main(["run", str(file), "--property", law]) == code


UNREADABLE: Final = {
    "no script": b"[]",
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "nothing": b"",
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_script_is_unusable(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "script.json"
    path.write_bytes(content)
    code = main(["run", str(path)])
    shown = capsys.readouterr()

    assert (code, shown.out) == (UNUSABLE, "")
    assert shown.err.startswith(f"{path}: ")


def test_script_that_names_nothing_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, Bind(cache=1))
    code = main(["run", str(path)])

    assert code == UNUSABLE
    assert capsys.readouterr().err == (
        f"{path}: call 0, Bind(cache=1): there is no cache 1\n"
    )


def test_file_that_cannot_be_read_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = {main(["run", str(path)]) for path in (tmp_path, tmp_path / "missing")}

    assert codes == {UNUSABLE}
    assert capsys.readouterr().err.count("\n") == 2


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["run"],
        ["run", "script.json", "--property", "P99"],
        ["enumerate", "--depth", "deep"],
        ["interrupts", "--call", "fly"],
        ["signals", "--count", "0"],
        ["kills", "--count", "many"],
    ],
)
def test_arguments_that_are_none_are_unusable(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)

    assert end.value.code == UNUSABLE
    assert capsys.readouterr().err.startswith("usage: python -m properties")


def test_enumerate_tells_what_it_ran(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["enumerate", "--depth", "1"])
    first, second = capsys.readouterr().out.splitlines()
    n_scripts = sum(len(each.alphabet) for each in GEOMETRIES)

    assert code == OK
    assert first.startswith(f"{len(GEOMETRIES)} geometries, {n_scripts} scripts, ")
    assert second.endswith(" edges")


@pytest.mark.parametrize(("law", "code"), [("P1", FOUND), ("S1", OK)])
def test_enumerate_ends_with_the_first_failure(
    law: str,
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds_logits(monkeypatch)
    monkeypatch.chdir(tmp_path)

    assert main(["enumerate", "--depth", "1", "--property", law]) == code
    assert capsys.readouterr().out.startswith("P1 logits: " if code else "3 geom")


def test_report_and_its_trace_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    codes = [main(["report"]), main(["report", "--trace"])]
    shown = capsys.readouterr().out

    assert codes == [OK, OK]
    assert shown.startswith("chapter=")
    assert "CACHED_GENERATION_TRACE" in shown


def test_failure_that_was_kept_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds_logits(monkeypatch)
    with pytest.raises(PropertyFailed) as failure, kept(tmp_path):
        Judge()(script_of(*GROWS))
    _, note = failure.value.__notes__
    arguments = note.removeprefix("run it again: python -m properties ").split()

    assert main(arguments) == FOUND
    monkeypatch.undo()
    assert main(arguments) == OK


def test_command_is_a_process(file: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "properties", "run", str(file)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "no law is broken" in run.stdout
    assert run.stderr == ""
