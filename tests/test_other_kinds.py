"""An object of another kind is a TypeError, and an error's sentence is short."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Final

import numpy as np
import pytest

from engine import (
    AdamW,
    Decoder,
    DuplicateParameter,
    FileRejected,
    GenerationRequest,
    GradientMismatch,
    Greedy,
    InvalidConfig,
    KVCache,
    NonFiniteUpdate,
    Parameter,
    ParameterBorrowed,
    ParameterInStep,
    ParameterLayout,
    ParameterMismatch,
    ParameterRevisionMismatch,
    ParameterSetChanged,
    SplitMix64,
    generate,
    loss_and_gradients,
    save,
)
from engine.arrays import array_of
from tests.models import ADAMW, REQUEST, TINY, World, decoder_of

Call = Callable[[World, object], object]


def claiming(kind: type[object]) -> object:
    """What says that it is something else."""
    return type("Claiming", (), {"__class__": property(lambda _: kind)})()


OTHERS: Final = (
    *(..., object(), SimpleNamespace()),
    *(claiming(Decoder), claiming(Greedy)),
)

CALLS: Final[dict[str, Call]] = {
    "cache": lambda _, v: KVCache(v),  # type: ignore[arg-type] # what is tried
    "work": lambda w, v: KVCache(w.decoder, v),  # type: ignore[arg-type] # what is tried
    "bind": lambda w, v: w.cache.bind(v),  # type: ignore[arg-type] # what is tried
    "generate": lambda w, v: generate(v, [0], REQUEST, w.rng),  # type: ignore[arg-type] # what is tried
    "request": lambda w, v: generate(w.decoder, [0], v, w.rng),  # type: ignore[arg-type] # what is tried
    "rng": lambda w, v: generate(w.decoder, [0], REQUEST, v),  # type: ignore[arg-type] # what is tried
    "mode": lambda w, v: generate(
        w.decoder,
        [0],
        GenerationRequest(mode=v, eos_token=None, max_new_tokens=1),  # type: ignore[arg-type] # what is tried
        w.rng,
    ),
    "loss": lambda _, v: loss_and_gradients(v, [0], [0]),  # type: ignore[arg-type] # what is tried
    "optimizer": lambda _, v: AdamW(v),  # type: ignore[arg-type] # what is tried
    "configuration": lambda w, v: Decoder(v, w.decoder.parameters),  # type: ignore[arg-type] # what is tried
    "initialize": lambda w, v: Decoder.initialize(v, w.rng),  # type: ignore[arg-type] # what is tried
    "initialize with": lambda _, v: Decoder.initialize(TINY, v),  # type: ignore[arg-type] # what is tried
    "save with": lambda w, v: save("none", w.decoder, rng=v),  # type: ignore[arg-type] # what is tried
    "name": lambda _, v: Parameter(v, [1.0]),  # type: ignore[arg-type] # what is tried
    "value": lambda _, v: Parameter("a", v),  # type: ignore[arg-type] # what is tried
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("value", OTHERS)
def test_other_kind_is_a_type_error(call: str, value: object) -> None:
    world = World.closed()
    before = world.everything()

    with pytest.raises(TypeError):
        CALLS[call](world, value)

    assert world.everything() == before


def test_decoder_takes_no_object_that_claims_to_be_a_parameter() -> None:
    *others, _ = decoder_of().parameters

    for given in ([*others, claiming(Parameter)], [*decoder_of().parameters, None]):
        with pytest.raises(ParameterLayout):
            Decoder.from_parameters(TINY, given)  # type: ignore[arg-type] # what is tried


@pytest.mark.parametrize("value", [[[1.0, 2.0], [3.0]], "x", [None], {}, iter([1.0])])
def test_parameter_takes_numbers(value: object) -> None:
    with pytest.raises(TypeError):
        Parameter("a", value)  # type: ignore[arg-type] # what is tried


def test_name_of_a_subclass_is_plain_text() -> None:
    class Word(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __ne__(self, other: object) -> bool:
            return False

    assert type(Parameter(Word("a"), [1.0]).name) is str


class Endless:
    """A sequence, for all that NumPy can tell."""

    def __init__(self) -> None:
        self.n_read = 0

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> float:
        self.n_read += 1
        assert self.n_read < 1_000
        return 1.0


@pytest.mark.parametrize("wrap", [lambda each: each, lambda each: [each]])
def test_endless_sequence_is_no_array(wrap: Callable[[Endless], object]) -> None:
    endless = Endless()

    with pytest.raises(TypeError):
        Parameter("a", wrap(endless))  # type: ignore[arg-type] # what is tried
    with pytest.raises(GradientMismatch):
        AdamW(ADAMW).step([Parameter("a", [1.0])], [wrap(endless)])  # type: ignore[list-item] # what is tried
    assert endless.n_read == 0


def test_range_is_no_array_however_long() -> None:
    """NumPy would make a list of it."""
    endless = range(2**62)

    with pytest.raises(TypeError):
        Parameter("a", endless)
    with pytest.raises(GradientMismatch):
        AdamW(ADAMW).step([Parameter("a", [1.0])], [endless])  # type: ignore[list-item] # what is tried


def test_gradient_that_takes_no_memory_is_not_copied() -> None:
    huge = np.broadcast_to(1.0, (2**30, 2**29))

    with pytest.raises(GradientMismatch) as refusal:
        AdamW(ADAMW).step([Parameter("a", [1.0])], [huge])

    assert "shape" in refusal.value.reason


@pytest.mark.parametrize("value", [[1.0, 2.0], (1, 2), memoryview(b"ab")])
def test_what_has_an_end_is_an_array(value: object) -> None:
    array = array_of(value)  # type: ignore[arg-type] # more than the type says

    assert array is not None
    assert array.shape == (2,)


class Failing:
    def __repr__(self) -> str:
        raise RuntimeError


def _nested() -> list[object]:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


LONG: Final = "x" * 10**6


def _errors() -> Iterator[Exception]:
    for value in (LONG, [LONG], Failing(), _nested(), 10**5_000, -(10**5_000)):
        yield InvalidConfig("d_ff", value, "reason")
    yield ParameterSetChanged((LONG,), (LONG, "b"))
    yield ParameterMismatch(0, LONG)
    yield ParameterRevisionMismatch(0, LONG, 1, 2)
    yield ParameterInStep(0, LONG)
    yield ParameterLayout(0, LONG, "reason")
    yield DuplicateParameter(LONG)
    yield GradientMismatch(0, LONG, "reason")
    yield NonFiniteUpdate(0, LONG)
    yield ParameterBorrowed(LONG)
    yield FileRejected(LONG, "part", "reason")


@pytest.mark.parametrize("error", tuple(_errors()))
def test_sentence_is_short(error: Exception) -> None:
    assert len(str(error)) < 1_000
    assert len(repr(error)) < 1_000


def test_name_in_a_reason_is_cut() -> None:
    _, *others = decoder_of().parameters

    with pytest.raises(ParameterLayout) as refusal:
        Decoder.from_parameters(TINY, [Parameter(LONG, [1.0]), *others])

    assert len(refusal.value.reason) < 1_000


def test_generator_needs_a_state_and_no_more() -> None:
    rng = SimpleNamespace(state=1)
    generate(decoder_of(), [0], REQUEST, rng)

    assert rng.state != 1
    assert SplitMix64(rng.state).state == rng.state
