"""Two calls that stop in one another: each is refused, or happens as if alone."""

from dataclasses import replace
from functools import partial
from secrets import randbelow
from typing import Final

import pytest

from engine import (
    AdamW,
    CacheInUse,
    EngineError,
    ParameterBorrowed,
    ParameterInStep,
    ParameterRevisionMismatch,
    SessionBusy,
    StepOutput,
)
from properties.interrupts.boundaries import boundaries
from tests.models import ADAMW, TINY, World, bits_of, decoder_of, held, ones_for
from tests.puppets import Puppet

pytestmark = pytest.mark.usefixtures("traced_bytecodes")

N_INTERLEAVINGS: Final = 150
NEVER: Final = -1  # a boundary that no call has

ROOMY: Final = replace(TINY, capacity=1_000)
"""With room for more decodes than any test makes."""


def in_order(outputs: list[tuple[int, StepOutput]]) -> list[tuple[int, object]]:
    """Tokens and bits by the length that each call gave."""
    ordered = sorted(outputs, key=lambda each: each[1].length)
    return [(token_id, bits_of(output)) for token_id, output in ordered]


def alone(tokens: list[int]) -> list[tuple[int, object]]:
    """What the same decodes give in one thread."""
    world = World.empty(ROOMY)
    world.session.prefill([0])
    return [(each, bits_of(world.session.decode(each))) for each in tokens]


def decode(world: World, token_id: int) -> tuple[int, StepOutput]:
    return token_id, world.session.decode(token_id)


def test_interleaved_decodes_happen_one_after_the_other_or_are_refused() -> None:
    world = World.empty(ROOMY)
    world.session.prefill([0])
    total = boundaries(lambda: world.session.decode(1))

    for _ in range(N_INTERLEAVINGS):
        first_stop = 1 + randbelow(total)
        second_stop = 1 + randbelow(300)
        third_stop = first_stop + 1 + randbelow(60)
        stops = f"stops {first_stop}, {second_stop}, {third_stop}"
        world = World.empty(ROOMY)
        world.session.prefill([0])
        first = Puppet(partial(decode, world, 1))
        second = Puppet(partial(decode, world, 2))
        first.run_to(first_stop)
        second.run_to(second_stop)
        first.run_to(third_stop)
        second.finish()
        first.finish()

        outputs = first.results + second.results
        refusals = {type(each) for each in first.refusals + second.refusals}
        tokens = [token_id for token_id, _ in in_order(outputs)]
        assert refusals <= {SessionBusy}, stops
        assert world.cache.length == 1 + len(outputs), stops
        assert in_order(outputs) == alone(tokens), stops


def test_interleaved_steps_of_one_optimizer_are_whole_or_refused() -> None:
    """The first stops shortly before its end, the second shortly after its start."""
    gradients = ones_for(decoder_of().parameters)
    total = 0

    for _ in range(2 * N_INTERLEAVINGS):
        first_stop, second_stop = max(1, total - randbelow(300)), 1 + randbelow(900)
        decoder, optimizer = decoder_of(), AdamW(ADAMW)
        parameters = decoder.parameters
        first = Puppet(partial(optimizer.step, parameters, gradients))
        second = Puppet(partial(optimizer.step, parameters, gradients))
        first.run_to(first_stop)
        second.run_to(second_stop)
        first.finish()
        second.finish()
        total = first.count if first.results else total

        taken = len(first.results + second.results)
        same, undisturbed = decoder_of(), AdamW(ADAMW)
        for _ in range(taken):
            undisturbed.step(same.parameters, gradients)
        stops = f"stops {first_stop}, {second_stop}"
        refusals = {type(each) for each in first.refusals + second.refusals}
        assert refusals <= {ParameterBorrowed}, stops
        assert optimizer.snapshot() == undisturbed.snapshot(), stops
        assert held(decoder) == held(same), stops


@pytest.mark.parametrize("bind_is_first", [True, False])
def test_interleaved_bind_and_step_never_both_happen(*, bind_is_first: bool) -> None:
    """Half of the steps stop at any moment, and half shortly before their end."""
    total = 7_000

    for turn in range(N_INTERLEAVINGS):
        world = World.closed()
        decoder = world.decoder
        before = held(decoder)
        gradients = ones_for(decoder.parameters)
        bind = Puppet(partial(world.cache.bind, decoder))
        step = Puppet(partial(world.optimizer.step, decoder.parameters, gradients))
        first, second = (bind, step) if bind_is_first else (step, bind)
        late = max(1, total - randbelow(300))
        stops = 1 + randbelow(2_500), late if turn % 2 else 1 + randbelow(total)
        first.run_to(stops[not bind_is_first])
        second.run_to(stops[bind_is_first] if turn % 4 < 2 else NEVER)
        first.finish()
        second.finish()
        total = step.count if step.results else total

        refused_bind = {type(each) for each in bind.refusals}
        assert refused_bind <= {ParameterInStep, ParameterRevisionMismatch}, stops
        assert {type(each) for each in step.refusals} <= {ParameterBorrowed}, stops
        assert not (bind.results and step.results), stops
        assert (held(decoder) == before) == (not step.results), stops
        for session in bind.results:
            session.close()
        world.optimizer.step(decoder.parameters, gradients)


def test_session_that_a_closing_one_let_in_is_its_own() -> None:
    total = boundaries(World.prefilled().session.close)

    for boundary in range(1, total + 1):
        world = World.prefilled()
        closing = Puppet(world.session.close)
        closing.run_to(boundary)
        refusals: list[EngineError] = []
        try:
            with world.cache.bind(world.decoder) as session:
                session.decode(2)
        except CacheInUse:
            continue
        except SessionBusy as error:
            refusals.append(error)
        finally:
            closing.finish()

        assert refusals == [], boundary
