"""What generation must choose, and from where on rounding may choose otherwise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine import (
    DecoderConfig,
    Generation,
    GenerationRequest,
    GenerationStep,
    Greedy,
    SplitMix64,
    TopK,
)
from properties.allowed import Allowed
from properties.calls import Generate
from properties.replayed import Replayed
from reference import Replay
from reference.generation import generate_by_reading
from reference.replay import Reals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DueGeneration:
    """The generation that a replay chooses.

    Attributes:
        generation: all of it
        state: of the generator afterwards
        n_sure: choices before the first whose margin is inside the bound
        interval_bound: how far the edges of an interval may be off
        by_own_logits: the same from the engine's own logits, where rounding decides;
            ties are then ties, and have an order
    """

    generation: Generation
    state: int
    n_sure: int
    interval_bound: float
    by_own_logits: "DueGeneration | None" = None

    @property
    def is_sure(self) -> bool:
        """Whether rounding decides nothing."""
        return self.n_sure == len(self.steps)

    @property
    def steps(self) -> tuple[GenerationStep, ...]:
        """Every choice."""
        return self.generation.steps


def request_of(call: Generate) -> GenerationRequest:
    """What the call asks for."""
    sampling = call.sampling
    mode = (
        Greedy()
        if sampling is None
        else TopK(temperature=float(sampling.temperature), k=sampling.k)
    )
    return GenerationRequest(
        mode=mode, eos_token=call.eos_token, max_new_tokens=call.max_new_tokens
    )


def due_generation(
    read: Callable[[tuple[int, ...], tuple[int, ...]], Replayed],
    config: DecoderConfig,
    call: Generate,
    guess: tuple[int, ...],
) -> DueGeneration:
    """What must be generated.

    Args:
        read: gives the replay of a history, and may be told what lies ahead of it
        config: its configuration
        call: what is asked for
        guess: tokens that will probably be read, so that one replay is enough

    Raises:
        Exception: the refusal that is due, or whatever ``read`` raises.
    """
    seen = list[Allowed]()
    can_be = len(guess) <= config.capacity and all(
        0 <= token_id < config.vocab_size for token_id in guess
    )

    def replayed(history: tuple[int, ...]) -> Replay:
        ahead = guess if can_be and guess[: len(history)] == history else history
        known = read(history, ahead)
        length = len(history)
        seen.append(known.due.logits(length))
        return replace(known.replay, logits=known.replay.logits[:length])

    rng, request = SplitMix64(call.rng_state), request_of(call)
    made = generate_by_reading(replayed, config, call.prompt, request, rng)
    return _judged(made, seen, request, rng.state)


def chosen_by(
    own: Callable[[tuple[int, ...]], Reals | None],
    replayed: Replay,
    config: DecoderConfig,
    call: Generate,
) -> DueGeneration | None:
    """What must be generated from the logits that an engine itself gives.

    Args:
        own: gives the logits of a history; nothing where the engine gives none
        replayed: any replay, in whose place they are read
        config: of the decoder
        call: what is asked for
    """
    seen = list[Reals]()

    def read(history: tuple[int, ...]) -> Replay:
        logits = own(history)
        if logits is None:
            raise LookupError
        seen.append(logits)
        rows = np.broadcast_to(logits, (len(history), len(logits)))
        return replace(replayed, logits=rows)

    rng, request = SplitMix64(call.rng_state), request_of(call)
    try:
        made = generate_by_reading(read, config, call.prompt, request, rng)
    except LookupError:
        return None
    heat = request.mode.temperature if isinstance(request.mode, TopK) else 1.0
    exact = (Allowed(logits, np.zeros(len(logits))) for logits in seen)
    bound = max((_share_bound(logits, heat) for logits in exact), default=0.0)
    sure = [bound < 1 and not _is_near(step, bound) for step in made.steps]
    return DueGeneration(
        generation=made,
        state=rng.state,
        n_sure=[*sure, False].index(False),
        interval_bound=bound,
    )


def _judged(
    made: Generation, seen: Sequence[Allowed], request: GenerationRequest, state: int
) -> DueGeneration:
    """How far the generation is sure, by the logits that were seen."""
    heat = request.mode.temperature if isinstance(request.mode, TopK) else 1.0
    bound = max((_share_bound(logits, heat) for logits in seen), default=0.0)
    sure = [
        margin(logits.due, request, step, bound) > 2 * float(logits.bound.max())
        for logits, step in zip(seen, made.steps, strict=True)
    ]
    return DueGeneration(
        generation=made,
        state=state,
        n_sure=[*sure, False].index(False),
        interval_bound=bound,
    )


def _share_bound(logits: Allowed, heat: float) -> float:
    """How far the end of an interval may be off.

    A share follows its exponent, the difference of two logits that are off by the
    bound and are rounded; and all shares are rounded, and added up.
    """
    unit = float(np.finfo(np.float64).eps)
    rounded = logits.bound + 2 * unit * np.abs(logits.due)
    return 2 * float(rounded.max()) / heat + unit * (len(logits.due) + 8)


def margin(
    logits: Reals, request: GenerationRequest, step: GenerationStep, bound: float
) -> float:
    """How far the logits are from another choice; 0 if the draw is near an edge."""
    ranked = np.sort(logits)[::-1]
    k = request.mode.k if isinstance(request.mode, TopK) else 1
    gap = float(ranked[k - 1] - ranked[k]) if k < len(ranked) else np.inf
    if bound >= 1:  # so cold that the order of any two may decide everything
        gap = min(gap, *-np.diff(ranked[:k]), np.inf)
    return 0.0 if _is_near(step, bound) else gap


def _is_near(step: GenerationStep, bound: float) -> bool:
    """Whether a draw is so near an edge of its interval that rounding decides."""
    if step.unit_draw is None:
        return False
    edges = {step.interval_start, step.interval_end} - {0.0, 1.0}
    return any(abs(step.unit_draw - edge) <= bound for edge in edges)
