"""Lines of a program are plain Python, however long what they say is."""

import ast
from dataclasses import replace

import numpy as np
import pytest

from engine.row import Row, prepare
from engine.stages import Probe
from properties.calls import Call, Decode, Prefill
from properties.chapter import CONFIG
from properties.program import program
from properties.program.lines import (
    asserted,
    commented,
    filled,
    folded,
    imports,
    listed,
    said,
    texts,
    without_idle_session,
)
from properties.script import Script, Weights
from tests.broken_answers import nudges_after_a_refusal, rounds_logits
from tests.judged import GROWS, failure_of, script_of
from tests.planned import fault
from tests.programs import beginning, is_short, message_of

OPEN = ["cache = KVCache(decoder)", "session = cache.bind(decoder)"]


@pytest.mark.parametrize(
    "value",
    [0, -1.5, np.inf, (), (1,), (1, "a"), 40 * (7,), "it's", 'say "so"', None, True],
)
def test_value_is_said_so_that_it_comes_back(value: object) -> None:
    text = said(value)

    assert eval(text) == value  # noqa: S307 # what is tested
    assert len(text) < 20


def test_bracket_is_broken_between_its_parts() -> None:
    names = [f"argument_{number}" for number in range(12)]
    short, long = "f(", "an_answer_of_a_long_name = called_by_its_name("
    for head in (short, long):
        lines = filled(head, listed(names, ")"))

        assert max(map(len, lines)) <= 88
        assert len(lines) == 2 + (head is long)
        assert len(ast.parse("\n".join(lines)).body) == 1


def test_long_text_is_broken_and_whole() -> None:
    text = " ".join(f"word{number}" for number in range(30))
    names: dict[str, object] = {}
    lines = texts("due = ", text)
    exec("\n".join(lines), names)  # noqa: S102 # what is tested

    assert names["due"] == text
    assert max(map(len, lines)) <= 88
    assert all(line.startswith("# ") for line in commented(text))


@pytest.mark.parametrize("n_words", [1, 8, 9, 30])
def test_assertion_tells_place_and_values(n_words: int) -> None:
    where = "{" + " ".join(n_words * ['"word"']) + "}"
    lines = asserted("came == due", where)
    message = message_of("\n".join(["due, came = 1, 2", *lines]))

    assert message == where.replace('"', "'").replace("{", "(").replace("}", ")") + (
        ": due 1, came 2"
    )
    assert max(map(len, lines)) <= 88


def test_what_is_said_again_is_a_loop() -> None:
    twice = ["with suppress(A):", "    b()", "c()"]

    assert folded(["a()", *twice, *twice, "d()"]) == [
        *("a()", "for _ in range(2):"),
        *(f"    {line}" for line in twice),
        "d()",
    ]
    assert folded(3 * ["a()"]) == ["for _ in range(3):", "    a()"]
    assert folded(["a()", "a()", "b()"]) == ["a()", "a()", "b()"]
    assert folded(["if a:", *3 * ["    b()"]]) == ["if a:", *3 * ["    b()"]]


def test_idle_session_is_left_out_if_nobody_can_tell() -> None:
    close, step = "session.close()", "optimizer.step(a, b)"
    spare = 'cache.fill_spare(float("nan"))'

    assert without_idle_session(["a", *OPEN, spare, close, step]) == ["a", step]
    assert without_idle_session([*OPEN, "run.cache.length"]) == ["run.cache.length"]
    for lines in (
        [*OPEN, step],
        [*OPEN, step, close],
        [*OPEN, "session.reset()"],
        [*OPEN, "    came = cache.length"],
    ):
        assert without_idle_session(lines) == lines


def test_what_is_used_is_imported() -> None:
    body = ["Work = 1", "np.ones(Work)", "with suppress(KeyError):", "    load(math)"]

    assert list(imports(body)) == [
        "import math",
        "from contextlib import suppress",
        "import numpy as np",
        "from engine import load",
    ]


@pytest.mark.parametrize(
    "calls",
    [
        (Prefill(prompt=(0, 1) * 40),),
        (Prefill(prompt=(0,) * 80),),
        (Prefill(prompt=(0, 1)), *78 * (Decode(token_id=1),)),
    ],
)
def test_many_tokens_take_few_lines(
    calls: tuple[Call, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    nudges_after_a_refusal(monkeypatch)
    config = replace(CONFIG, n_layers=0, capacity=82)
    refused = Decode(token_id=9)
    script = Script(config=config, weights=Weights(seed=3), calls=(*calls, refused))
    failure = failure_of(script)
    text = program(failure)

    assert failure.law.id == "R3"
    assert is_short(text)
    assert message_of(text).startswith(beginning(failure))
    monkeypatch.undo()
    assert message_of(text) == ""


def test_blank_lines_go_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds_logits(monkeypatch)
    failure = failure_of(script_of(*GROWS))
    with_blanks = program(failure)
    n_lines = len(with_blanks.splitlines())
    monkeypatch.setattr("properties.program.writing.MOST_LINES", n_lines - 1)

    assert program(failure) == with_blanks.replace("\n\n", "\n")


def test_run_that_raises_is_compared_as_what_it_raises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hasty(row: Row, probe: Probe | None) -> None:
        prepare(row, probe)
        if probe is None and row.position:
            raise ValueError("no probe")

    monkeypatch.setattr("properties.program.writing.MOST_LINES", 40)
    monkeypatch.setattr("engine.session.prepare", hasty)
    failure = failure_of(script_of(Decode(token_id=0), *GROWS, faults=(fault(0, 0),)))
    text = program(failure)

    assert failure.law.id == "R3"
    assert "due ValueError('no probe'), came [" in message_of(text)
    monkeypatch.undo()
    assert message_of(text) == ""
