"""The injector spoils what it is handed, where that can be spoiled."""

import numpy as np

from engine import Stage
from engine.arrays import Array, read_only_copy
from properties.injector import Injector


def test_copy_is_spoiled() -> None:
    value = read_only_copy(np.ones(2))
    Injector()(Stage.EMBEDDING, None, 0, value)

    assert np.isnan(value).all()


def test_view_of_what_cannot_be_written_is_left() -> None:
    value: Array = np.frombuffer(np.ones(2).tobytes())
    Injector()(Stage.EMBEDDING, None, 0, value)

    assert value.tolist() == [1.0, 1.0]
