"""Of several misses the first is named; of no numbers, none is missed."""

import numpy as np

from properties.allowed import Allowed


def test_first_miss_is_named_and_not_the_last() -> None:
    allowed = Allowed(np.zeros((2, 2)), np.full((2, 2), 0.5))

    assert allowed.missed(np.array([[0.0, 1.0], [2.0, 0.0]])) == (0, 1)


def test_no_numbers_use_up_nothing() -> None:
    allowed = Allowed(np.zeros((0, 2)), np.zeros((0, 2)))

    assert allowed.share(np.zeros((0, 2))) == 0.0
    assert allowed.missed(np.zeros((0, 2))) is None
