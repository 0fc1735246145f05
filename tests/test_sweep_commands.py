"""The commands of the sweeps: what they print, and with which code they end."""

from pathlib import Path

import pytest

from properties.__main__ import main
from properties.commanding import FOUND, INTERRUPTED, OK, UNUSABLE
from properties.script import to_json
from tests.broken_failures import makes_new_buffers_after_a_failed_prefill
from tests.judged import GROWS, script_of
from tests.planned import fault


def test_run_shows_where_a_fault_struck(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "script.json"
    faulty = script_of(*GROWS, *GROWS[1:], faults=(fault(1, 13),))
    path.write_text(to_json(faulty), encoding="utf-8")
    code = main(["run", str(path)])

    assert code == OK
    assert "StageFailed by plan at gate of block 0, position 2" in (
        capsys.readouterr().out
    )


def test_faults_end_with_the_first_failure(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    makes_new_buffers_after_a_failed_prefill(monkeypatch)
    monkeypatch.chdir(tmp_path)
    code = main(["faults"])
    shown = capsys.readouterr().out

    assert code == FOUND
    assert shown.startswith("A1 fault: call 0, Prefill(")
    assert '"faults":[\n  {"call":0,"point":0,"raises":"Exception"}]' in shown
    (script,) = (tmp_path / "cachehound-failures").glob("A1-????????????.json")
    assert shown.endswith(
        f"run it again: python -m properties run cachehound-failures/{script.name}\n"
    )
    assert not (tmp_path / "cachehound-faults.json").read_text()


def test_faults_want_a_file_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before they begin: a minute later it would be a pity."""
    code = main(["faults", "--output", str(tmp_path)])

    assert code == UNUSABLE
    assert capsys.readouterr().err.startswith(f"{tmp_path}: ")


def test_run_tells_of_a_fault_that_struck_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "script.json"
    faulty = script_of(*GROWS, faults=(fault(0, 75), fault(1, 38)))
    path.write_text(to_json(faulty), encoding="utf-8")
    code = main(["run", str(path)])
    shown = capsys.readouterr().out

    assert code == OK
    assert "the fault of call 0 struck nothing\n" in shown
    assert "the fault of call 1 struck nothing\n" in shown


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        (["interrupts", "--call", "close"], "none of which left anything half done"),
        (["signals", "--count", "5"], "each left the state before a call"),
        (["kills", "--count", "2"], "each left the old file or the new one, whole"),
        (["threads", "--count", "2"], "each call was refused, or gave what it gives"),
    ],
)
def test_sweeps_end_with_a_verdict(
    arguments: list[str], verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == OK
    assert verdict in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (KeyboardInterrupt(), INTERRUPTED, "interrupted\n"),
        (BrokenPipeError("nobody reads"), UNUSABLE, "nobody reads\n"),
    ],
)
def test_what_ends_a_command_is_no_broken_law(
    error: BaseException,
    code: int,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ended(n_signals: int) -> None:
        del n_signals
        raise error

    monkeypatch.setattr("properties.__main__.hunt_signals", ended)

    assert main(["signals"]) == code
    assert capsys.readouterr().err == told
