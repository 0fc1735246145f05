"""P6 and R4: generation chooses what a replay chooses; a refused one draws nothing."""

from dataclasses import replace

from engine import Generation, GenerationStep
from properties.calls import Generate
from properties.choices import DueGeneration
from properties.difference import Difference, unlike, within
from properties.laws.law import REFUSED, law
from properties.moment import Met, Moment
from properties.subject import Answer, Offer


@law("P6 generation", (Met.DONE, Met.DISAGREED), Offer.GENERATION)
def generation(moment: Moment) -> Difference | None:
    """Every choice and draw is the replay's, up to the first that rounding decides."""
    due, came = moment.generation, moment.came
    if due is None or not isinstance(came, Answer):
        return None
    if came.generation is None:
        return Difference(where="no generation came", due=due.generation, came=None)
    found = _unlike(due, came.generation, moment)
    if found is None and due.by_own_logits is not None:
        return _unlike(due.by_own_logits, came.generation, moment)
    return found


def _unlike(due: DueGeneration, came: Generation, moment: Moment) -> Difference | None:
    """As far as it is sure, and then all else."""
    found = _choice(due, came)
    if found is not None or not due.is_sure:
        return found
    whole = replace(came, steps=due.steps)
    is_as_long = len(came.steps) == len(due.steps)
    if whole != due.generation or not is_as_long:
        where, place = "generation", ("generation",)
        return Difference(where=where, due=due.generation, came=came, place=place)
    found = unlike("the generator's state", due.state, moment.after.generator)
    return within(found, "generator")


def _choice(due: DueGeneration, came: Generation) -> Difference | None:
    """The first choice that is another one."""
    for index in range(due.n_sure):
        pair = due.steps[index : index + 1], came.steps[index : index + 1]
        if not pair[1] or not _alike(pair[0][0], pair[1][0], due.interval_bound):
            where, place = f"choice {index}", ("choices", index)
            return Difference(where=where, due=pair[0], came=pair[1], place=place)
    return None


@law("R4 no draw", REFUSED, Offer.GENERATION, Offer.REFUSALS)
def no_draw(moment: Moment) -> Difference | None:
    """A refused generation leaves the generator where it was."""
    call = moment.call
    if not isinstance(call, Generate):
        return None
    where = "the generator's state after a refusal"
    found = unlike(where, call.rng_state, moment.after.generator)
    return within(found, "generator")


def _alike(due: GenerationStep, came: GenerationStep, bound: float) -> bool:
    """The same choice by the same draw, from an interval that rounding may move."""
    edges = zip(
        (due.interval_start, due.interval_end),
        (came.interval_start, came.interval_end),
        strict=True,
    )
    facts = [(s.prefix_length, s.token_id, s.unit_draw) for s in (due, came)]
    return facts[0] == facts[1] and all(abs(a - b) <= bound for a, b in edges)
