"""``python -m engine generate``: what it prints, and where."""

import io
import os
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
import tokenizers

from engine import Decoder, Generation, Greedy, TopK, command, generate
from engine.command import OK
from engine.llama import write_llama
from engine.request import Mode
from tests.commanded import (
    N_NEW,
    TEXT,
    WORDED,
    expected,
    run,
    shown,
    tokenizer,
    write_model,
)
from tests.llamas import document, tell, varied
from tests.models import GROUPED

ROOT: Final = Path(__file__).parents[1]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    write_model(path, varied(WORDED))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_llama(tmp_path, varied(GROUPED))
    return tmp_path


SAMPLED: Final = {
    "greedy": ([], Greedy(), 0),
    "temperature": (["--temperature", "0.5"], TopK(temperature=0.5, k=40), 0),
    "top k": (["--top-k", "259", "--seed", "7"], TopK(temperature=1.0, k=259), 7),
}


@pytest.mark.parametrize(("options", "mode", "seed"), SAMPLED.values(), ids=SAMPLED)
def test_text_alone_is_printed(
    options: list[str],
    mode: Mode,
    seed: int,
    file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = run(file, TEXT, "--max-new-tokens", N_NEW, *options)

    assert code == OK
    assert capsys.readouterr().out == shown(expected(mode, seed))


def test_counters_and_rates_go_elsewhere(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(file, TEXT, "--max-new-tokens", N_NEW)
    rates, counters = capsys.readouterr().err.splitlines()

    rate = r"tokens in \d+\.\d\d s, \d+\.\d a second"
    assert re.fullmatch(
        rf"prefill: 2 {rate}; decode: 7 {rate}; stopped by token-limit", rates
    )
    assert counters == (
        "token_forwards:9 prefill_tokens:2 decode_tokens:7 cache_appends:18 "
        "qkv_projection_rows:54 attention_scores:360"
    )


def test_text_is_seen_token_by_token(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    class Reader(io.StringIO):
        def flush(self) -> None:
            seen.append(self.getvalue())

    monkeypatch.setattr(sys, "stdout", Reader())
    run(file, TEXT, "--max-new-tokens", 3)

    assert seen == ["M", "MM", "MMM", "MMM\n"]


def test_progress_is_shown_on_a_terminal_and_gives_way_to_the_text(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # which makes any stream a terminal
    run(file, TEXT, "--max-new-tokens", N_NEW)
    captured = capsys.readouterr()

    assert captured.out == shown(expected(Greedy()))
    assert "reading the prompt, 2 of 2" in captured.err


def test_tokens_are_printed_for_tokens(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt = ",".join(map(str, tokenizer().token_ids(TEXT)))
    run(file, "--tokens", prompt, "--max-new-tokens", N_NEW)
    generated = expected(Greedy()).generated

    assert capsys.readouterr().out == ",".join(map(str, generated)) + "\n"


def test_token_that_ends_a_text_is_not_printed(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *_ = expected(Greedy()).generated
    write_model(file, varied(WORDED), eos_token_id=first)
    code = run(file, TEXT)
    captured = capsys.readouterr()

    assert (code, captured.out) == (OK, "\n")
    assert "stopped by eos" in captured.err


@pytest.mark.parametrize(
    ("eos", "stop"),
    [
        (None, "token-limit"),
        (0, "eos"),
        (1, "token-limit"),
        ([0, 1], "eos"),
        ([1, 0], "token-limit"),
        ([], "token-limit"),
        ("0", "token-limit"),
    ],
)
def test_directory_may_name_the_last_token(
    eos: object, stop: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tiny decoder says 0 for ever."""
    tell(folder, document(folder) | {"eos_token_id": eos})
    code = run(folder, "--tokens", "0", "--max-new-tokens", 3)

    assert code == OK
    assert f"stopped by {stop}" in capsys.readouterr().err


def test_directory_has_a_tokenizer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_llama(tmp_path, varied(GROUPED))
    words = tokenizers.models.WordLevel(vocab={"yes": 0, "no": 1})
    tokenizers.Tokenizer(words).save(str(tmp_path / "tokenizer.json"))
    code = run(tmp_path, "yes", "--max-new-tokens", 2)

    assert (code, capsys.readouterr().out) == (OK, "yes yes\n")


def test_dtype_and_capacity_are_the_callers(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def generate_and_keep(decoder: Decoder, *rest: object) -> Generation:
        given.append(decoder.config)
        return generate(decoder, *rest)  # type: ignore[arg-type] # passed on as they come

    monkeypatch.setattr(command, "generate", generate_and_keep)
    write_model(file, varied(replace(WORDED, dtype="float32")))
    codes = [
        run(file, TEXT),
        run(file, TEXT, "--max-new-tokens", 3, "--dtype", "float64"),
        run(file, TEXT, "--max-new-tokens", 3, "--capacity", 4),
    ]

    assert codes == [OK, OK, OK]
    assert given == [
        replace(WORDED, dtype="float32"),  # no more than the model was made for
        replace(WORDED, capacity=5),
        replace(WORDED, capacity=4, dtype="float32"),
    ]
    assert capsys.readouterr().err.count("context-limit") == 1


def test_command_is_a_module(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["generate", "--weights", str(file), TEXT, "--max-new-tokens", "8"]
    monkeypatch.setattr(sys, "argv", ["engine", *arguments])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "engine" / "__main__.py"), run_name="__main__")

    assert end.value.code == OK
    assert capsys.readouterr().out == shown(expected(Greedy()))


def test_command_is_a_process(file: Path) -> None:
    arguments = ["generate", "--weights", str(file), TEXT, "--max-new-tokens", "8"]
    process = subprocess.run(
        [sys.executable, "-m", "engine", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    assert process.stdout == shown(expected(Greedy()))
    assert process.stderr.count("\n") == 2
