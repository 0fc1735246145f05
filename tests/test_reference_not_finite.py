"""A replay names the first number that is none, with its own value."""

import numpy as np
import pytest

from engine import NonFinite, Stage, StageFailed
from engine.arrays import Array
from reference.replay import _finite


def test_first_bad_value_is_named_and_not_the_last() -> None:
    made: Array = np.array([[1.0, -np.inf], [np.nan, np.inf]])

    with pytest.raises(StageFailed) as failure:
        _finite((Stage.GATE, 0), made)

    assert isinstance(cause := failure.value.__cause__, NonFinite)
    assert (cause.index, cause.value) == (1, -np.inf)
