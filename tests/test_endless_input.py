"""What is iterated over need not have an end: no more is read than decides."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Final, Generic, TypeVar

import numpy as np
import pytest

from engine import (
    AdamW,
    Decoder,
    DecoderConfig,
    DuplicateParameter,
    EngineError,
    GradientMismatch,
    KVCache,
    Parameter,
    ParameterLayout,
    ParameterSetChanged,
    PrefillRequiresEmpty,
    PromptTooLong,
    SplitMix64,
    TargetCountMismatch,
    generate,
    loss_and_gradients,
)
from reference import generate_by_replay
from reference.session import check_training
from tests.modelled import opened
from tests.models import (
    ADAMW,
    NO_BLOCKS,
    REQUEST,
    TINY,
    World,
    decoder_of,
    facts,
    ones_for,
)

T = TypeVar("T")
ENDLESS: Final = 1_000


class Counted(Generic[T]):
    """What never ends by itself, and counts what was asked of it."""

    def __init__(self, make: Callable[[int], T]) -> None:
        self.make = make
        self.n_read = 0

    def __iter__(self) -> Iterator[T]:
        for index in count():
            self.n_read += 1
            assert self.n_read < ENDLESS
            yield self.make(index)


def zeros() -> Counted[int]:
    return Counted(lambda _: 0)


READERS: Final[dict[str, Callable[[Counted[int]], object]]] = {
    "prefill": World.empty().session.prefill,
    "generate": lambda prompt: generate(decoder_of(), prompt, REQUEST, SplitMix64(0)),
    "loss": lambda prompt: loss_and_gradients(decoder_of(), prompt, [0]),
    "prefill of the model": opened().prefill,
    "replay": lambda prompt: generate_by_replay(
        TINY, decoder_of().weights, prompt, REQUEST, SplitMix64(0)
    ),
    "loss of the model": lambda prompt: check_training(TINY, prompt, [0]),
}


@pytest.mark.parametrize("call", READERS)
def test_endless_prompt_is_too_long_by_one(call: str) -> None:
    prompt = zeros()

    with pytest.raises(PromptTooLong) as refusal:
        READERS[call](prompt)

    assert refusal.value.args == (5, 4)
    assert prompt.n_read == 5


@pytest.mark.parametrize("session", [World.prefilled().session, opened(prompt=(0, 1))])
def test_one_token_decides_where_nothing_fits(session: object) -> None:
    prompt = zeros()

    with pytest.raises(PrefillRequiresEmpty):
        session.prefill(prompt)  # type: ignore[attr-defined] # either the engine or the model

    assert prompt.n_read == 1


@pytest.mark.parametrize("session", [World.empty().session, opened()])
def test_honest_length_is_told(session: object) -> None:
    with pytest.raises(PromptTooLong) as refusal:
        session.prefill(range(10**9))  # type: ignore[attr-defined] # either the engine or the model

    assert refusal.value.args == (10**9, 4)


@pytest.mark.parametrize("capacity", [2**63 - 1, 2**63, 2**70])
def test_capacity_may_be_more_than_python_counts(capacity: int) -> None:
    decoder = decoder_of(replace(NO_BLOCKS, capacity=capacity))
    with KVCache(decoder).bind(decoder) as session:
        assert session.prefill([0, 1]).length == 2


def _loss(config: DecoderConfig, targets: Counted[int]) -> object:
    return loss_and_gradients(decoder_of(config), [0, 1], targets)


def _checked(config: DecoderConfig, targets: Counted[int]) -> object:
    check_training(config, [0, 1], targets)
    return None


@pytest.mark.parametrize("call", [_loss, _checked])
def test_endless_targets_are_one_too_many(
    call: Callable[[DecoderConfig, Counted[int]], object],
) -> None:
    targets = zeros()

    with pytest.raises(TargetCountMismatch) as refusal:
        call(TINY, targets)

    assert refusal.value.args == (2, 3)
    assert targets.n_read == 3


def test_length_of_targets_is_told() -> None:
    with pytest.raises(TargetCountMismatch) as refusal:
        loss_and_gradients(decoder_of(), [0, 1], range(10**9))

    assert refusal.value.args == (2, 10**9)


def test_endless_gradients_are_one_too_many() -> None:
    world = World.closed()
    before = world.everything()
    gradients = Counted(lambda _: np.ones(1))

    with pytest.raises(GradientMismatch) as refusal:
        world.optimizer.step(world.decoder.parameters, gradients)

    assert refusal.value.index == gradients.n_read - 1 == 11
    assert world.everything() == before


def _refused(optimizer: AdamW, given: Counted[Parameter]) -> EngineError:
    with pytest.raises(EngineError) as refusal:
        optimizer.step(given, [])
    return refusal.value


def test_endless_parameters_are_read_to_the_first_duplicate() -> None:
    given = Counted(lambda index: Parameter(f"p{index % 7}", [1.0]))

    assert facts(_refused(AdamW(ADAMW), given)) == facts(DuplicateParameter("p0"))
    assert given.n_read == 8


def test_endless_parameters_are_read_to_the_first_surplus() -> None:
    known = [Parameter(name, [1.0]) for name in ("p0", "p1")]
    optimizer = AdamW(ADAMW)
    optimizer.step(known, ones_for(known))
    given = Counted(lambda index: Parameter(f"p{index}", [1.0]))

    refusal = _refused(optimizer, given)

    due = ParameterSetChanged(("p0", "p1"), ("p0", "p1", "p2"))
    assert facts(refusal) == facts(due)
    assert given.n_read == 3


def test_list_of_parameters_is_read_whole() -> None:
    """A duplicate behind a surplus decides, as the order of the checks has it."""
    known = [Parameter(name, [1.0]) for name in ("a", "b")]
    optimizer = AdamW(ADAMW)
    optimizer.step(known, ones_for(known))
    given = [Parameter(name, [1.0]) for name in ("a", "c", "d", "c")]

    with pytest.raises(DuplicateParameter):
        optimizer.step(given, [])


def test_decoder_of_endless_parameters_is_refused_at_the_first_surplus() -> None:
    parameters = decoder_of().parameters
    given = Counted(lambda index: parameters[index % 11])

    with pytest.raises(ParameterLayout) as refusal:
        Decoder.from_parameters(TINY, given)

    assert (refusal.value.index, refusal.value.reason) == (11, "is surplus")
    assert given.n_read == 12


def test_token_that_stops_an_iteration_ends_no_prompt() -> None:
    class Stopping:
        def __index__(self) -> int:
            raise StopIteration

    for session in (World.empty().session, opened()):
        with pytest.raises(StopIteration):
            session.prefill([0, Stopping()])
    with pytest.raises(StopIteration):
        check_training(TINY, [0, 0], [0, Stopping()])
