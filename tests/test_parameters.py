"""A parameter is its identity; nobody but a step replaces its value."""

from typing import Final

import numpy as np
import pytest

from engine import AdamW, Decoder, KVCache, Parameter, ParameterBorrowed
from engine.arrays import Numbers
from tests.models import ADAMW, TINY, World, decoder_of, ones_for, step_once

WEIGHT: Final = np.arange(6.0).reshape(2, 3)


def test_parameter_has_what_it_was_given() -> None:
    parameter = Parameter("a name", WEIGHT)

    assert parameter.name == "a name"
    assert parameter.revision == 0
    assert parameter.value.tolist() == WEIGHT.tolist()
    assert parameter.value.dtype == np.float64
    assert repr(parameter) == "<Parameter a name (2, 3) revision 0>"


@pytest.mark.parametrize(
    "value",
    [
        WEIGHT.T,
        WEIGHT[:, ::-1],
        np.asfortranarray(WEIGHT),
        np.zeros((0, 3)),
        np.float64(1.5),
        [[1.0, 2.0], [3.0, 4.0]],
    ],
)
def test_value_is_the_same_whatever_lies_in_memory(value: Numbers) -> None:
    parameter = Parameter("weight", value)

    assert np.array_equal(parameter.value, np.asarray(value))
    assert parameter.value.shape == np.asarray(value).shape


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([object()])])
def test_what_is_no_number_is_refused(value: Numbers) -> None:
    with pytest.raises(TypeError, match="a parameter holds numbers, not"):
        Parameter("weight", value)


def test_value_keeps_its_bits() -> None:
    odd = np.array([-0.0, 5e-324, np.inf, np.nan])

    assert Parameter("weight", odd).value.tobytes() == odd.tobytes()


@pytest.mark.parametrize("name", ["name", "value", "revision"])
def test_attribute_cannot_be_set(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(Parameter("weight", WEIGHT), name, 1)


def test_parameters_are_equal_by_identity_alone() -> None:
    one, other = Parameter("weight", WEIGHT), Parameter("weight", WEIGHT)

    assert one != other
    assert len({one, other}) == 2


def test_revision_grows_by_one_with_every_replacement() -> None:
    parameter = Parameter("weight", WEIGHT)
    optimizer = AdamW(ADAMW)

    for revision in (1, 2, 3):
        optimizer.step([parameter], ones_for([parameter]))
        assert parameter.revision == revision


def test_value_that_was_read_before_a_step_stays() -> None:
    parameter = Parameter("weight", WEIGHT)
    before = parameter.value

    AdamW(ADAMW).step([parameter], ones_for([parameter]))

    assert before.tolist() == WEIGHT.tolist()
    assert parameter.value.tolist() != WEIGHT.tolist()


def test_parameter_of_two_decoders_is_borrowed_by_both() -> None:
    decoder = decoder_of()
    twin = Decoder.from_parameters(TINY, decoder.parameters)
    one = KVCache(decoder).bind(decoder)
    other = KVCache(twin).bind(twin)

    one.close()
    with pytest.raises(ParameterBorrowed):
        step_once(decoder)
    other.close()
    step_once(decoder)

    assert {each.revision for each in twin.parameters} == {1}


def test_borrow_is_given_back_by_the_collector() -> None:
    world = World.prefilled()

    del world.session

    world.cache.bind(world.decoder).close()
    step_once(world.decoder)


def test_value_is_read_only_to_everyone() -> None:
    value = Parameter("weight", WEIGHT).value

    assert not value.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        value[0, 0] = 9.0
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        value.flags.writeable = True
