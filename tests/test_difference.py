"""A difference names the first place, and both values as they are there."""

from typing import NamedTuple

import numpy as np
import pytest

from properties.difference import Difference, bits_of, unlike, unlike_bits


class View(NamedTuple):
    length: int
    rows: tuple[bytes, ...]


def place_of(found: Difference | None) -> tuple[str, object, object]:
    assert found is not None

    return found.where, found.due, found.came


def floats(*numbers: float) -> bytes:
    return np.array(numbers, np.float64).tobytes()


@pytest.mark.parametrize(
    "value", [0, "a", (), (1, (2, b"3")), View(1, (b"",)), floats(float("nan"))]
)
def test_what_is_equal_has_no_difference(value: object) -> None:
    assert unlike("all", value, value) is None


def test_difference_in_a_record_is_named_by_its_fields() -> None:
    due, came = View(1, (b"a", b"b")), View(1, (b"a", b"c"))

    found = unlike("cache", due, came)

    assert place_of(found) == ("cache.rows[1]", b"b", b"c")


def test_first_difference_is_named() -> None:
    assert place_of(unlike("all", (0, 1, 2), (0, 7, 8))) == ("all[1]", 1, 7)


def test_records_of_different_lengths_differ_whole() -> None:
    assert place_of(unlike("all", (0, 1), (0,))) == ("all", (0, 1), (0,))


def test_difference_in_bits_is_a_number_and_its_index() -> None:
    found = unlike("row", floats(0, 1, 2), floats(0, 1.5, 3))

    assert place_of(found) == ("row, number 1", 1.0, 1.5)


def test_zeros_of_different_signs_differ() -> None:
    where, due, came = place_of(unlike("row", floats(0.0), floats(-0.0)))

    assert (where, str(due), str(came)) == ("row, number 0", "0.0", "-0.0")


@pytest.mark.parametrize("came", [b"ValueError()", b"12345678", b""])
def test_what_is_no_number_is_shown_as_it_came(came: bytes) -> None:
    due = b"RuntimeError" if len(came) == 12 else floats(1, 2)

    assert place_of(unlike("row", due, came)) == ("row", due, came)


def test_arrays_differ_by_their_bits() -> None:
    found = unlike_bits("row", np.array([1.0, 2.0]), np.array([1.0, 2.5]))

    assert place_of(found) == ("row, number 1", 2.0, 2.5)
    assert unlike_bits("row", np.array([np.nan]), np.array([np.nan])) is None


def test_no_array_has_no_bits() -> None:
    assert bits_of(None) == b""
    assert place_of(unlike_bits("row", None, np.ones(1))) == ("row", b"", floats(1))


def test_difference_is_shown_with_its_bound_if_there_is_one() -> None:
    assert str(Difference(where="a", due=1, came=2)) == "a\n  due    1\n  came   2"
    assert str(Difference(where="a", due=1, came=2, bound=0.5)) == (
        "a\n  due    1\n  came   2\n  bound  0.5"
    )


def test_difference_in_narrow_bits_is_a_narrow_number() -> None:
    due, came = (np.array([1, 2, last], np.float32) for last in (3, 4))

    assert place_of(unlike_bits("row", due, came)) == ("row, number 2", 3.0, 4.0)
