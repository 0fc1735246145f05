"""The command that shows what a bound sees: its steps, its tables, its codes."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from engine.arrays import DType
from properties.__main__ import main
from properties.commanding import FOUND, OK, UNUSABLE
from properties.corruptions import CORRUPTIONS
from properties.prefilled import N_STEPS, Prefilled
from properties.rejections import LOGITS, ROWS, RULES, Tally
from properties.replayed import Replayed, Standard
from properties.strength import SOUND, Kind, Step, Tallies, measured, steps
from properties.strength_models import drawn_models, real_models
from properties.strength_report import n_false_alarms, tables, to_json
from tests.commanded import WORDED, tokenizer, write_model
from tests.llamas import varied

_DTYPES: Final[tuple[DType, ...]] = ("float64", "float32")


@pytest.fixture
def tiny_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command with one geometry, and a terminal in which no line is broken."""
    tiny = {"tiny": drawn_models()["tiny"]}
    monkeypatch.setattr("properties.strength_command.drawn_models", lambda: tiny)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    write_model(path, varied(replace(WORDED, dtype="float32")))
    return path


def told(**rejected: int) -> Tallies:
    """Four judged vectors of one kind, and two sound caches."""
    counts = Counter({ROWS: rejected.get("rows", 0)})
    alarms = Counter({LOGITS: rejected.get("alarms", 0)})
    return {
        Kind("tiny", "float64", "zero"): Tally(n_judged=4, n_equal=1, rejected=counts),
        Kind("tiny", "float64", SOUND): Tally(n_judged=2, rejected=alarms),
    }


def cells(tallies: Tallies, column: str) -> list[str]:
    (table,) = tables(tallies)
    (found,) = (each for each in table.columns if each.header == column)
    return [str(cell) for cell in found.cells]


def test_steps_corrupt_first_and_then_look_at_fresh_ones() -> None:
    planned = steps(["tiny"], _DTYPES, 1, 2)

    assert [(each.dtype, each.seed, each.is_corrupted) for each in planned] == [
        (dtype, seed, seed == 0) for dtype in _DTYPES for seed in range(3)
    ]


def test_counts_of_several_models_add_up() -> None:
    models = drawn_models()
    taken = [Step("tiny", "float64", seed, is_corrupted=seed < 2) for seed in range(4)]
    both = measured(models, taken)
    alone = [measured(models, [step]) for step in taken]
    kind = Kind("tiny", "float64", "1e-2")

    assert both[kind] == alone[0][kind] + alone[1][kind]
    assert both[Kind("tiny", "float64", SOUND)].n_judged == 4
    assert len(both) == len(CORRUPTIONS) + 1


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("name", drawn_models())
def test_drawn_models_have_room_and_enough_tokens(name: str, dtype: DType) -> None:
    drawn = [drawn_models()[name](dtype, seed) for seed in range(3)]
    configs = {each.decoder.config for each in drawn}
    (config,) = configs

    assert config.dtype == dtype
    assert config.vocab_size > 5
    assert len({each.prompt for each in drawn}) == len(drawn)
    assert all(len(each.prompt) + N_STEPS <= config.capacity for each in drawn)


def test_real_models_read_a_text_from_different_places(file: Path) -> None:
    make = real_models(str(file))[file.name]
    first, second = (make("float32", seed) for seed in range(2))

    assert [*first.prompt, *second.prompt] == tokenizer().token_ids("The old lighthou")
    assert first.decoder.config.capacity == len(first.prompt) + N_STEPS
    assert Prefilled.of(first).logits.dtype == "float32"


def test_table_tells_shares_and_counts() -> None:
    shown = cells(told(rows=3), "zero")

    assert shown[:3] == ["4", "1", "75.0\n3"]
    assert shown[3:] == ["0.0\n0"] * (len(RULES) - 1)


def test_share_of_all_is_100_and_of_all_but_a_few_is_less() -> None:
    all_but_one = Tally(n_judged=5_000, rejected=Counter({ROWS: 4_999}))

    assert cells(told(rows=4), "zero")[2] == "100\n4"
    assert cells({Kind("tiny", "float64", "zero"): all_but_one}, "zero")[2] == (
        "99.9\n4999"
    )


def test_table_has_no_share_of_nothing() -> None:
    assert cells(told(), "half")[2] == "-"


def test_alarms_are_those_of_the_bound() -> None:
    others = {Kind("tiny", "float64", SOUND): Tally(rejected=Counter({"argmax": 1}))}

    assert [
        n_false_alarms(each) for each in (told(rows=4), told(alarms=1), others)
    ] == [*(0, 1, 0)]


def test_json_has_every_rule() -> None:
    stored = json.loads(to_json(told(rows=3)))["tallies"]

    assert [each["corruption"] for each in stored] == ["zero", SOUND]
    assert stored[0] == {
        "model": "tiny",
        "dtype": "float64",
        "corruption": "zero",
        "n_judged": 4,
        "n_equal": 1,
        "rejected": dict.fromkeys(RULES, 0) | {ROWS: 3},
    }


@pytest.mark.usefixtures("tiny_alone")
def test_command_prints_a_table_a_dtype_and_stores_the_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "strength.json"
    code = main(["strength", "--seeds", "1", "--fresh", "1", "--json", str(path)])
    shown = capsys.readouterr().out
    stored = json.loads(path.read_text())["tallies"]

    assert code == OK
    assert [shown.count(f"{dtype} (tiny): rejected") for dtype in _DTYPES] == [1, 1]
    assert shown.endswith("\n0 false alarms of the bound on 4 sound caches\n")
    assert len(stored) == 2 * (len(CORRUPTIONS) + 1)


@pytest.mark.usefixtures("tiny_alone")
def test_false_alarm_is_a_finding(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    close = property(lambda known: Standard(known.replay, known.bounds, 1e-9))
    monkeypatch.setattr(Replayed, "due", close)
    monkeypatch.setattr("properties.rejections._require_sound", lambda _case: None)
    code = main(["strength", "--seeds", "1", "--fresh", "1", "--dtype", "float32"])

    assert code == FOUND
    assert capsys.readouterr().out.endswith(
        "4 false alarms of the bound on 2 sound caches\n"
    )


def test_command_measures_real_weights(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "strength.json"
    options = ["--dtype", "float32", "--fresh", "1", "--vectors", "1"]
    code = main(["strength", "--weights", str(file), *options, "--json", str(path)])
    zero = json.loads(path.read_text())["tallies"][1]

    assert code == OK
    assert f"float32 ({file.name}): rejected" in capsys.readouterr().out
    assert (zero["corruption"], zero["n_judged"]) == ("zero", 2 * WORDED.n_layers)


@pytest.mark.parametrize(
    "arguments", [["--weights", "missing.gguf"], ["--json", "missing/strength.json"]]
)
def test_what_cannot_be_read_or_written_is_unusable(
    arguments: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["strength", *arguments]) == UNUSABLE
    assert "missing" in capsys.readouterr().err


def test_file_that_is_no_model_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")

    assert main(["strength", "--weights", str(path)]) == UNUSABLE
    assert capsys.readouterr().err.startswith(str(path))
