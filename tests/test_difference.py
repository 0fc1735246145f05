"""A difference names the first place, and both values as they are there."""

from typing import NamedTuple

import numpy as np
import pytest

from engine.arrays import Array
from properties.difference import Difference, bits_of, unlike, unlike_bits
from properties.tolerance import TOLERANCE, first_difference, share_of_bound


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


DUE = np.array([[1.0, -4.0], [2.0, 3.0]])
ALLOWED = 4 * TOLERANCE


def off_by(distance: float) -> Array:
    came: Array = DUE + np.array([[0, 0], [distance, distance]])
    return came


@pytest.mark.parametrize("sign", [1, -1])
def test_bound_is_a_share_of_the_largest_magnitude(sign: int) -> None:
    within, beyond = off_by(sign * 0.99 * ALLOWED), off_by(sign * 1.01 * ALLOWED)

    assert first_difference("rows", DUE, within) is None
    assert first_difference("rows", DUE, beyond) == Difference(
        where="rows at [1, 0]", due=2.0, came=beyond[1, 0], bound=ALLOWED
    )
    assert share_of_bound(DUE, within) == pytest.approx(0.99, rel=1e-3)
    assert share_of_bound(DUE, beyond) == pytest.approx(1.01, rel=1e-3)


def test_no_number_is_beyond_every_bound() -> None:
    found = first_difference("rows", DUE, off_by(np.nan))

    assert found is not None
    assert found.where == "rows at [1, 0]"
    assert share_of_bound(DUE, off_by(np.nan)) == np.inf


def test_zeros_may_not_be_off_at_all() -> None:
    zeros = np.zeros(2)

    assert share_of_bound(zeros, zeros) == 0
    assert share_of_bound(zeros, np.array([0, 5e-324])) == np.inf


def test_another_shape_is_the_difference() -> None:
    found = first_difference("rows", DUE, DUE[:1])

    assert place_of(found) == ("rows, shape", (2, 2), (1, 2))
    assert share_of_bound(DUE, DUE[:1]) == np.inf
