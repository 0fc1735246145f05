"""What comes may be off by the bound of each element, and by no more."""

import numpy as np
import pytest

from engine.arrays import Array
from properties.allowed import Allowed
from properties.difference import Difference

DUE = np.array([[1.0, -4.0], [2.0, 3.0]])
ALLOWED = Allowed(DUE, np.array([[0.0, 1.0], [0.5, 0.25]]))


def off_by(distance: float) -> Array:
    came: Array = DUE + np.array([[0, 0], [distance, 0]])
    return came


@pytest.mark.parametrize("sign", [1, -1])
def test_each_element_has_its_own_bound(sign: int) -> None:
    within, beyond = off_by(sign * 0.5), off_by(sign * 0.75)

    assert ALLOWED.difference("rows", within) is None
    assert ALLOWED.difference("rows", beyond) == Difference(
        where="rows at [1, 0]", due=2.0, came=beyond[1, 0], bound=0.5
    )
    assert (ALLOWED.share(within), ALLOWED.share(beyond)) == (1.0, 1.5)


def test_what_is_exact_may_not_be_off_at_all() -> None:
    came = DUE + np.array([[5e-16, 0], [0, 0]])

    assert ALLOWED.share(DUE) == 0
    assert ALLOWED.share(came) == np.inf
    assert ALLOWED.difference("rows", came) is not None


@pytest.mark.parametrize("bound", [0.0, 1.0, np.inf])
def test_no_number_is_beyond_every_bound(bound: float) -> None:
    allowed, came = Allowed(np.ones(1), np.array([bound])), np.array([np.nan])

    assert allowed.difference("rows", came) is not None
    assert allowed.share(came) == np.inf


def test_infinite_bound_allows_every_number() -> None:
    allowed, came = Allowed(np.ones(1), np.array([np.inf])), np.array([-1e308])

    assert allowed.difference("rows", came) is None
    assert allowed.share(came) == 0


def test_opposite_numbers_may_be_infinitely_far_apart() -> None:
    allowed, came = Allowed(np.array([1e308]), np.array([1e308])), np.array([-1e308])

    assert allowed.difference("rows", came) is not None


def test_narrow_numbers_are_compared_as_they_are() -> None:
    due = np.array([1 + 2.0**-30])
    came = due.astype(np.float32)

    assert Allowed(due, np.array([2.0**-30])).difference("rows", came) is None
    assert Allowed(due, np.array([2.0**-31])).difference("rows", came) is not None


def test_another_shape_is_the_difference() -> None:
    found = ALLOWED.difference("rows", DUE[:1])

    assert found == Difference(where="rows, shape", due=(2, 2), came=(1, 2))
    assert ALLOWED.share(DUE[:1]) == np.inf
