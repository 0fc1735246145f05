"""A probe that raises fails the call at its stage, and changes nothing."""

from collections.abc import Callable
from typing import Final, NamedTuple

import pytest

from engine import DecoderConfig, Probe, Stage, StageFailed, StepOutput
from engine.stages import Place, row_places
from tests.models import GROUPED, PROMPT, World, bits_of, logical


class Fault(NamedTuple):
    """Raised from the probe at one event of a call."""

    event: int
    place: Place


def faults(config: DecoderConfig, n_rows: int) -> list[Fault]:
    events = [*row_places(config.n_layers) * n_rows, (Stage.COMMIT, None)]
    return [Fault(event, place) for event, place in enumerate(events)]


def failing_at(event: int, error: BaseException) -> Probe:
    """A probe that raises once, at its so many-th call after a reset."""
    events = iter(range(event + 1))

    def raise_there(*_: object) -> None:
        if next(events, None) == event:
            raise error

    return raise_there


def prefill(world: World) -> StepOutput:
    return world.session.prefill(PROMPT)


def decode(world: World) -> StepOutput:
    return world.session.decode(2)


PREFILL_FAULTS: Final = faults(GROUPED, n_rows=2)
DECODE_FAULTS: Final = faults(GROUPED, n_rows=1)
ERRORS: Final = (LookupError(), MemoryError())


def rebound(world: World, probe: Probe) -> World:
    world.session.close()
    world.session = world.cache.bind(world.decoder, probe=probe)
    world.cache.fill_spare(7.0)
    return world


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("fault", DECODE_FAULTS)
def test_decode_that_a_probe_fails_changes_nothing(
    fault: Fault, error: Exception
) -> None:
    probe = failing_at(fault.event, error)
    world = rebound(World.prefilled(GROUPED), probe)
    before = world.everything()

    with pytest.raises(StageFailed) as failure:
        decode(world)

    assert (failure.value.stage, failure.value.layer) == fault.place
    assert failure.value.__cause__ is error
    assert world.everything() == before
    expected = decode(World.prefilled(GROUPED))
    assert bits_of(decode(world)) == bits_of(expected)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("fault", PREFILL_FAULTS)
def test_prefill_that_a_probe_fails_leaves_an_empty_cache(
    fault: Fault, error: Exception
) -> None:
    probe = failing_at(fault.event, error)
    world = rebound(World.empty(GROUPED), probe)
    before = world.everything()

    with pytest.raises(StageFailed) as failure:
        prefill(world)

    assert (failure.value.stage, failure.value.layer) == fault.place
    assert failure.value.__cause__ is error
    after = world.everything()
    assert after.cache._replace(bits=before.cache.bits) == before.cache
    assert after[1:] == before[1:]
    expected = prefill(World.empty(GROUPED))
    assert bits_of(prefill(world)) == bits_of(expected)


@pytest.mark.parametrize("call", [prefill, decode])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit()])
@pytest.mark.parametrize("event", [0, 7, len(DECODE_FAULTS) - 1])
def test_what_is_no_exception_passes_as_it_is(
    event: int, error: BaseException, call: Callable[[World], StepOutput]
) -> None:
    make = World.empty if call is prefill else World.prefilled
    world = rebound(make(GROUPED), failing_at(event, error))
    before = logical(world.cache)

    with pytest.raises(type(error)) as passed:
        call(world)

    assert passed.value is error
    assert logical(world.cache) == before
    assert bits_of(call(world)) == bits_of(call(make(GROUPED)))
