"""P6 and R4: generation chooses what a replay chooses; a refused one draws nothing."""

from dataclasses import replace

from engine import GenerationStep
from properties.calls import Generate
from properties.difference import Difference
from properties.laws.law import DONE, REFUSED, law
from properties.moment import Moment
from properties.subject import Offer


@law("P6 generation", DONE, Offer.GENERATION)
def generation(moment: Moment) -> Difference | None:
    """Every choice and draw is the replay's, up to the first that rounding decides."""
    due = moment.generation
    if due is None:
        return None
    came = moment.answer.generation
    assert came is not None  # what a generation is answered by
    for index in range(due.n_sure):
        pair = due.steps[index : index + 1], came.steps[index : index + 1]
        if not pair[1] or not _alike(pair[0][0], pair[1][0], due.interval_bound):
            return Difference(where=f"choice {index}", due=pair[0], came=pair[1])
    if due.n_sure < len(due.steps):
        return None
    whole = replace(came, steps=due.steps)
    if whole != due.generation or len(came.steps) != len(due.steps):
        return Difference(where="generation", due=due.generation, came=came)
    if moment.after.generator != due.state:
        where = "the generator's state"
        return Difference(where=where, due=due.state, came=moment.after.generator)
    return None


@law("R4 no draw", REFUSED, Offer.GENERATION, Offer.REFUSALS)
def no_draw(moment: Moment) -> Difference | None:
    """A refused generation leaves the generator where it was."""
    call = moment.call
    if not isinstance(call, Generate):
        return None
    if moment.after.generator == call.rng_state:
        return None
    where = "the generator's state after a refusal"
    return Difference(where=where, due=call.rng_state, came=moment.after.generator)


def _alike(due: GenerationStep, came: GenerationStep, bound: float) -> bool:
    """The same choice by the same draw, from an interval that rounding may move."""
    edges = zip(
        (due.interval_start, due.interval_end),
        (came.interval_start, came.interval_end),
        strict=True,
    )
    facts = [(s.prefix_length, s.token_id, s.unit_draw) for s in (due, came)]
    return facts[0] == facts[1] and all(abs(a - b) <= bound for a, b in edges)
