"""What a probe raises comes out of its call; the fault sweep has every place for it."""

from collections.abc import Callable

import pytest

from engine import Probe, Stage, StageFailed, StepOutput
from tests.models import GROUPED, PROMPT, World, bits_of, logical


def failing_at(event: int, error: BaseException) -> Probe:
    """A probe that raises once, at its so many-th call."""
    events = iter(range(event + 1))

    def raise_there(*_: object) -> None:
        if next(events, None) == event:
            raise error

    return raise_there


def prefill(world: World) -> StepOutput:
    return world.session.prefill(PROMPT)


def decode(world: World) -> StepOutput:
    return world.session.decode(2)


def rebound(world: World, probe: Probe) -> World:
    world.session.close()
    world.session = world.cache.bind(world.decoder, probe=probe)
    world.cache.fill_spare(7.0)
    return world


def test_exception_of_a_probe_is_the_cause_of_the_failure() -> None:
    error = LookupError()
    world = rebound(World.prefilled(GROUPED), failing_at(4, error))

    with pytest.raises(StageFailed) as failure:
        decode(world)

    assert (failure.value.stage, failure.value.layer) == (Stage.VALUE, 0)
    assert failure.value.__cause__ is error


@pytest.mark.parametrize("call", [prefill, decode])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit()])
@pytest.mark.parametrize("event", [0, 7, 37])
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
