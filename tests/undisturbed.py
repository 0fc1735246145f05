"""What calls give when nobody interrupts them."""

from dataclasses import replace
from typing import Final, NamedTuple

from engine import (
    AdamWSnapshot,
    Decoder,
    Generation,
    GenerationRequest,
    SplitMix64,
    StepOutput,
    TopK,
    generate,
    loss_and_gradients,
)
from tests.models import PROMPT, SEED, TINY, World, bits_of, held, logical, ones_for

TOP_2: Final = GenerationRequest(
    mode=TopK(temperature=1.0, k=2), eos_token=None, max_new_tokens=2
)

ROOMY: Final = replace(TINY, capacity=1_000)
"""With room for more decodes than any test makes."""


class Undisturbed(NamedTuple):
    """What the same calls give when nobody interrupts them."""

    states: list[object]
    outputs: list[object]
    values: object
    optimizer: AdamWSnapshot
    generation: Generation
    drawn: int
    initialized: int
    loss: object

    @classmethod
    def observed(cls) -> "Undisturbed":
        world = World.empty()
        states: list[object] = [logical(world.cache)]
        outputs: list[object] = [bits_of(world.session.prefill(PROMPT))]
        states.append(logical(world.cache))
        for token_id in (2, 1):
            outputs.append(bits_of(world.session.decode(token_id)))
            states.append(logical(world.cache))
        world.session.close()
        generation = generate(world.decoder, [0], TOP_2, world.rng)
        loss = loss_bits(world.decoder)
        world.optimizer.step(
            world.decoder.parameters, ones_for(world.decoder.parameters)
        )
        Decoder.initialize(TINY, rng := SplitMix64(SEED))
        return cls(
            states=states,
            outputs=outputs,
            values=held(world.decoder),
            optimizer=world.optimizer.snapshot(),
            generation=generation,
            drawn=world.rng.state,
            initialized=rng.state,
            loss=loss,
        )


def loss_bits(decoder: Decoder) -> object:
    loss, gradients = loss_and_gradients(decoder, [0], [1])
    return loss, [gradient.tobytes() for gradient in gradients]


EXPECTED: Final = Undisturbed.observed()


def in_order(outputs: list[tuple[int, StepOutput]]) -> list[tuple[int, object]]:
    """Tokens and bits by the length that each call gave."""
    ordered = sorted(outputs, key=lambda each: each[1].length)
    return [(token_id, bits_of(output)) for token_id, output in ordered]


def alone(tokens: list[int]) -> list[tuple[int, object]]:
    """What the same decodes give in one thread."""
    world = World.empty(ROOMY)
    world.session.prefill([0])
    return [(each, bits_of(world.session.decode(each))) for each in tokens]
