"""Generic mutation: what is mutated, how outcomes are read, what was reviewed."""

from pathlib import Path
from typing import Final

import pytest

from tests.mutation.chosen import Places
from tests.mutation.copies import ROOT, modules
from tests.mutation.hunt import digest_of, mutated
from tests.mutation.phases import own_tests
from tests.mutation.reviewed import (
    Kind,
    Review,
    reviews,
    rotten,
    score,
    total,
    unexplained,
)
from tests.mutation.sessions import Mutant, Outcome, Result, changed

TEXT: Final = """\
from typing import TYPE_CHECKING, TypeAlias

Any: TypeAlias = int | str
@memo(2)
def f(a: int | str, *b: int) -> int | str:
    c: int | None = g(*b, **a) if a < 1 and 2 else "…" * 3
    if a == 2:
        return list(zip(b, b, strict=True))
    if not a:
        return f(True)
    if a in b:
        return c
if TYPE_CHECKING:
    n = 1 + 1
"""
MUL, OR, POW = (
    f"core/ReplaceBinaryOperator_{each}"
    for each in ("Mul_Add", "BitOr_BitAnd", "Pow_Mul")
)
LT, EQ = (f"core/ReplaceComparisonOperator_{each}" for each in ("Lt_GtE", "Eq_NotEq"))
NUMBER, NOT, FALSE = "core/NumberReplacer", "core/AddNot", "core/ReplaceTrueWithFalse"


def place(line: int, text: str) -> tuple[int, int]:
    return line, TEXT.splitlines()[line - 1].index(text)


@pytest.mark.parametrize(
    ("operator", "line", "text"),
    [
        (LT, 6, "< 1"),
        (NUMBER, 6, "1"),
        ("core/ReplaceAndWithOr", 6, "and"),
        (NOT, 6, "a < 1"),
        (MUL, 6, "* 3"),
        (NUMBER, 6, "3"),
        (EQ, 7, "=="),
        (FALSE, 10, "True"),
        (NOT, 11, "a in"),
    ],
)
def test_place_is_mutated(operator: str, line: int, text: str) -> None:
    assert Places(TEXT).are_worth_it(operator, place(line, text))


@pytest.mark.parametrize(
    ("operator", "line", "text"),
    [
        ("core/ReplaceBinaryOperator_Mul_Mod", 6, "* 3"),  # no partner of it
        ("core/RemoveDecorator", 4, "@"),
        (OR, 3, "|"),
        (NUMBER, 4, "2"),
        (OR, 5, "|"),
        (OR, 5, "| str:"),
        (MUL, 5, "*"),
        (OR, 6, "|"),
        (MUL, 6, "*b"),
        (POW, 6, "**a"),
        (NOT, 7, "a =="),  # the same as !=
        (FALSE, 8, "True"),
        (NOT, 9, "not"),  # the same as without it
        (NUMBER, 14, "1"),
    ],
)
def test_place_says_nothing(operator: str, line: int, text: str) -> None:
    assert not Places(TEXT).are_worth_it(operator, place(line, text))


DIFF: Final = """\
--- mutation diff ---
--- aengine/row.py
+++ bengine/row.py
@@ -2,3 +2,3 @@
     length = 1
-    if a == b:
+    if a != b:
         return"""


def test_diff_is_read_as_two_lines() -> None:
    assert changed(DIFF) == ("if a == b:", "if a != b:")


def came(outcome: Outcome, text: str, module: str = "a/b.py") -> Result:
    return Result(Mutant(module, "f", "x = 1", f"x = {text}"), outcome, "")


KILLED = came(Outcome.KILLED, "2")
LIVES = came(Outcome.SURVIVED, "3")
ENDLESS = came(Outcome.TIMED_OUT, "4")
BAD = came(Outcome.INCOMPETENT, "5")
RESULTS: Final = [KILLED, KILLED, LIVES, ENDLESS, BAD]


def review(result: Result, kind: Kind) -> Review:
    return Review(result.mutant, kind, "because")


def test_time_out_is_no_kill() -> None:
    it = score("a/b.py", RESULTS, [])

    assert (it.raw, it.detected, it.adjusted) == (2 / 5, 3 / 4, 2 / 4)


@pytest.mark.parametrize(
    ("kind", "adjusted"),
    [
        (Kind.EQUIVALENT, 2 / 3),
        (Kind.UNREACHABLE, 2 / 3),
        (Kind.ACCEPTED, 2 / 4),
        (Kind.ENDLESS, 2 / 4),
    ],
)
def test_review_excuses_what_is_no_fault(kind: Kind, adjusted: float) -> None:
    assert score("a/b.py", RESULTS, [review(LIVES, kind)]).adjusted == adjusted


def test_review_of_what_was_killed_excuses_nothing() -> None:
    known = [review(KILLED, Kind.EQUIVALENT)]

    assert score("a/b.py", RESULTS, known) == score("a/b.py", RESULTS, [])


def test_total_is_of_mutants_not_of_modules() -> None:
    both = total([score("a", RESULTS, []), score("b", [KILLED], [])], "all")

    assert (both.module, both.n, both.raw) == ("all", 6, 3 / 6)


def test_what_lives_must_be_reviewed() -> None:
    assert unexplained(RESULTS, []) == [LIVES, ENDLESS]
    assert unexplained(RESULTS, [review(LIVES, Kind.ACCEPTED)]) == [ENDLESS]


def test_review_of_no_mutant_is_told() -> None:
    gone = review(came(Outcome.SURVIVED, "9"), Kind.ACCEPTED)
    elsewhere = review(came(Outcome.SURVIVED, "9", "a/c.py"), Kind.ACCEPTED)
    known = [review(LIVES, Kind.ACCEPTED), gone, elsewhere]

    assert rotten("a/b.py", RESULTS, known) == [gone]


def test_hunt_finds_the_file_that_is_mutated(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("1")
    digests = {name: digest_of(tmp_path / name) for name in "ab"}
    (tmp_path / "originals.json").write_text(str(digests).replace("'", '"'))
    (tmp_path / "b").write_text("2")

    assert mutated(tmp_path) == "b"


def test_every_module_that_is_mutated_exists_with_its_tests() -> None:
    paths = [*modules(), *(test for each in modules() for test in own_tests(each))]

    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_review_is_of_a_line_that_is_there() -> None:
    texts = {each: (ROOT / each).read_text(encoding="utf-8") for each in modules()}
    lost = [
        each.mutant
        for each in reviews()
        if each.mutant.line
        not in " ".join(line.strip() for line in texts[each.mutant.module].splitlines())
    ]

    assert lost == []


def test_every_review_is_new_and_has_a_reason() -> None:
    known = reviews()

    assert len({each.mutant for each in known}) == len(known)
    assert [each for each in known if len(each.reason.split()) < 4] == []
