"""A decoder is whole, or it is not made, and then nothing was drawn."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import pytest

from engine import (
    Decoder,
    DecoderConfig,
    InvalidConfig,
    Parameter,
    ParameterLayout,
    SplitMix64,
)
from engine.arrays import Numbers
from tests.models import GROUPED, NO_BLOCKS, SEED, TINY, decoder_of, held

NAMES: Final = tuple(each.name for each in decoder_of().parameters)
LAST: Final = len(NAMES) - 1
HUGE: Final = 2**70


class Register:
    """A generator's state that tells every time it was written."""

    def __init__(self, state: int) -> None:
        self.written: list[int] = []
        self._state = state

    @property
    def state(self) -> int:
        return self._state

    @state.setter
    def state(self, state: int) -> None:
        self.written.append(state)
        self._state = state


def with_value(index: int, value: Numbers) -> list[Parameter]:
    parameters = list(decoder_of().parameters)
    parameters[index] = Parameter(parameters[index].name, value)
    return parameters


def refused(config: DecoderConfig, parameters: list[Parameter]) -> tuple[object, ...]:
    with pytest.raises(ParameterLayout) as refusal:
        Decoder.from_parameters(config, parameters)
    return refusal.value.args


def test_parameters_have_their_stable_order() -> None:
    block = (
        "attention_norm.gain",
        "attention.query.weight",
        "attention.key.weight",
        "attention.value.weight",
        "attention.output.weight",
        "ffn_norm.gain",
        "ffn.gate.weight",
        "ffn.up.weight",
        "ffn.down.weight",
    )

    names = [each.name for each in decoder_of(GROUPED).parameters]

    assert names == [
        "token_embedding.weight",
        *(f"blocks.{layer}.{name}" for layer in (0, 1) for name in block),
        "final_norm.gain",
    ]


def test_parameters_have_their_shapes() -> None:
    shapes = [each.value.shape for each in decoder_of(GROUPED).parameters]

    block = [(8,), (8, 8), (8, 4), (8, 4), (8, 8), (8,), (8, 3), (8, 3), (3, 8)]
    assert shapes == [(3, 8), *block, *block, (8,)]


def test_decoder_without_blocks_has_two_parameters() -> None:
    assert [each.name for each in decoder_of(NO_BLOCKS).parameters] == [
        "token_embedding.weight",
        "final_norm.gain",
    ]


def test_matrices_are_drawn_in_order_from_one_stream() -> None:
    units = iter(SplitMix64(SEED).units(200).tolist())

    for each in decoder_of().parameters:
        shape = each.value.shape
        if len(shape) == 1:
            assert each.value.tolist() == [1.0] * shape[0]
            continue
        bound = (6 / sum(shape)) ** 0.5
        expected = [bound * (2 * next(units) - 1) for _ in range(each.value.size)]
        assert each.value.ravel().tolist() == expected


def test_generator_is_written_once_and_has_drawn_every_element() -> None:
    register, stream = Register(SEED), SplitMix64(SEED)
    n_elements = sum(
        each.value.size for each in decoder_of().parameters if each.value.ndim > 1
    )

    Decoder.initialize(TINY, register)

    stream.draws(n_elements)
    assert register.written == [stream.state]


@pytest.mark.parametrize(
    "config",
    [
        replace(NO_BLOCKS, vocab_size=HUGE),
        replace(NO_BLOCKS, d_model=HUGE),
        replace(TINY, d_ff=HUGE),
        replace(NO_BLOCKS, vocab_size=2**58),
        replace(TINY, n_layers=2**57, capacity=1),
    ],
)
def test_giant_decoder_is_a_memory_error_and_draws_nothing(
    config: DecoderConfig,
) -> None:
    register = Register(SEED)

    with pytest.raises(MemoryError):
        Decoder.initialize(config, register)

    assert register.written == []


def test_decoder_that_is_refused_in_the_end_draws_nothing() -> None:
    class Unwanted(Decoder):
        def __init__(self, *_: object) -> None:
            raise LookupError

    register = Register(SEED)

    with pytest.raises(LookupError):
        Unwanted.initialize(TINY, register)

    assert register.written == []


@pytest.mark.parametrize("state", [-1, 2**64])
def test_generator_without_a_valid_state_is_refused(state: int) -> None:
    register = Register(state)

    with pytest.raises(InvalidConfig):
        Decoder.initialize(TINY, register)

    assert register.written == []


def test_decoder_shares_the_very_same_parameters() -> None:
    parameters = decoder_of().parameters

    def one_by_one() -> Iterator[Parameter]:
        yield from parameters

    decoder = Decoder.from_parameters(TINY, one_by_one())

    assert decoder.config is TINY
    assert all(map(lambda one, other: one is other, decoder.parameters, parameters))


def test_missing_parameter_is_named_by_what_was_expected() -> None:
    parameters = list(decoder_of().parameters)

    assert refused(TINY, []) == (0, NAMES[0], "is missing")
    assert refused(TINY, parameters[:-1]) == (LAST, NAMES[LAST], "is missing")


def test_surplus_parameter_is_named() -> None:
    parameters = [*decoder_of().parameters, Parameter("more", [1.0])]

    assert refused(TINY, parameters) == (LAST + 1, "more", "is surplus")


def test_first_parameter_that_does_not_fit_is_named() -> None:
    parameters = list(decoder_of().parameters)
    parameters[3], parameters[4] = parameters[4], parameters[3]

    assert refused(TINY, parameters) == (3, NAMES[3], f"is named {NAMES[4]}")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([1.0], "has the shape (1,), not (2,)"),
        ([[1.0, 1.0]], "has the shape (1, 2), not (2,)"),
        (np.float64(1.0), "has the shape (), not (2,)"),
        (np.ones(2, np.float32), "has the dtype float32, not float64"),
        (np.ones(2, ">f8"), "has the dtype >f8, not float64"),
        (np.ones(2, np.int64), "has the dtype int64, not float64"),
        (np.ones(2, np.complex128), "has the dtype complex128, not float64"),
        ([1.0, np.nan], "has a value that is not finite"),
        ([-np.inf, 1.0], "has a value that is not finite"),
    ],
)
def test_value_that_does_not_fit_is_refused(value: Numbers, reason: str) -> None:
    assert refused(TINY, with_value(1, value)) == (1, NAMES[1], reason)


def test_what_is_no_parameter_is_refused() -> None:
    parameters = list(decoder_of().parameters)
    parameters[2] = parameters[2].value  # type: ignore[call-overload] # which is the point

    reason = "is a ndarray, not a Parameter"
    assert refused(TINY, parameters) == (2, NAMES[2], reason)


def test_refused_decoder_changes_no_parameter() -> None:
    parameters = decoder_of().parameters
    before = held(decoder_of())

    refused(TINY, list(parameters[:-1]))

    assert held(Decoder.from_parameters(TINY, parameters)) == before


def test_names_differ() -> None:
    assert all(one != other for one, other in pairwise(sorted(NAMES)))


def test_decoder_shows_its_configuration() -> None:
    assert repr(decoder_of(TINY)) == f"<Decoder of {TINY}>"


def test_surplus_object_of_any_kind_is_refused() -> None:
    parameters = (*decoder_of(TINY).parameters, 5)
    with pytest.raises(ParameterLayout) as refusal:
        Decoder(TINY, parameters)  # type: ignore[arg-type] # what is tried

    assert refusal.value.args == (len(parameters) - 1, "", "is surplus")
