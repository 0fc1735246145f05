"""One optimizer makes one step at a time; and what it says of a gradient too few."""

import numpy as np
import pytest

from engine import AdamW, GradientMismatch, Parameter, ParameterBorrowed
from tests.models import ADAMW, CallingBack


def test_step_inside_a_step_is_refused_and_the_outer_one_goes_on() -> None:
    optimizer, other = AdamW(ADAMW), Parameter("other", [1.0])
    parameter, refused = Parameter("weight", [1.0]), list[str]()

    def step_with_another() -> None:
        with pytest.raises(ParameterBorrowed) as refusal:
            optimizer.step([other], [np.ones(1)])
        refused.append(refusal.value.name)

    gradient = CallingBack(np.ones(1), step_with_another)
    optimizer.step([parameter], [gradient])  # type: ignore[list-item] # read as one

    assert refused == ["other"]
    assert (parameter.revision, other.revision) == (1, 0)
    assert [each.name for each in optimizer.snapshot().moments] == ["weight"]


@pytest.mark.parametrize("n_gradients", [0, 1, 2])
def test_first_parameter_without_a_gradient_is_named(n_gradients: int) -> None:
    parameters = [Parameter(name, [1.0]) for name in "abc"]

    with pytest.raises(GradientMismatch) as refused:
        AdamW(ADAMW).step(parameters, n_gradients * [np.ones(1)])

    assert (refused.value.index, refused.value.name) == (
        n_gradients,
        "abc"[n_gradients],
    )
