"""B: a cache belongs to one decoder as it is, which nobody changes meanwhile."""

import numpy as np

from engine import (
    ConfigMismatch,
    ParameterBorrowed,
    ParameterMismatch,
    ParameterRevisionMismatch,
)
from properties.allowed import Allowed
from properties.calls import Step, Train
from properties.difference import Difference, unlike, within
from properties.laws.law import DISAGREED, DONE, law
from properties.laws.refusals import wrongly_answered
from properties.laws.undisturbed import disturbed_by
from properties.moment import Event, Met, Moment
from properties.subject import Offer


@law("B1 identity", DISAGREED, Offer.REFUSALS, Offer.SESSIONS)
def identity(moment: Moment) -> Difference | None:
    """Equal values in new parameters are refused."""
    return wrongly_answered(moment, (ParameterMismatch,))


@law("B2 configuration", DISAGREED, Offer.REFUSALS, Offer.SESSIONS)
def configuration(moment: Moment) -> Difference | None:
    """Another configuration is refused."""
    return wrongly_answered(moment, (ConfigMismatch,))


@law(
    "B3 staleness",
    (Met.LOGITS, Met.DISAGREED),
    Offer.REFUSALS,
    Offer.SESSIONS,
    Offer.STEPS,
)
def staleness(moment: Moment) -> Difference | None:
    """After a step the old cache is refused, and a new one is as on a fresh engine."""
    if moment.met is Met.DISAGREED:
        return wrongly_answered(moment, (ParameterRevisionMismatch,))
    return disturbed_by(Event.STEP, moment)


@law("B4 borrow", DISAGREED, Offer.REFUSALS, Offer.STEPS)
def borrow(moment: Moment) -> Difference | None:
    """A step during a session is refused; after close it succeeds."""
    return wrongly_answered(moment, (ParameterBorrowed,))


@law("B5 step", DONE, Offer.STEPS, Offer.STATE)
def step(moment: Moment) -> Difference | None:
    """A step replaces every value, revision and moment together, as AdamW says."""
    if not isinstance(moment.call, Step | Train):
        return None
    if found := _missed_value(moment) or _missed_moment(moment):
        return found
    model = moment.model
    known = dict.fromkeys(each for made in model.decoders for each in made.parameters)
    due_revisions = tuple(parameter.revision for parameter in known)
    due_counts = model.optimizer.n_steps, due_revisions
    counts = moment.answer.n_steps, moment.after.parameters[1]
    found = unlike("steps taken, and revisions", due_counts, counts)
    return within(found, "steps")


def _missed_value(moment: Moment) -> Difference | None:
    """A parameter's value that is too far off; what was not stepped is exact."""
    model, came = moment.model, moment.subject.weights()
    for index, made in enumerate(model.decoders):
        for parameter in made.parameters:
            due, bounds = model.values[parameter], model.step_bounds.get(parameter)
            allowed = Allowed(
                due, np.zeros(due.shape) if bounds is None else bounds.value
            )
            where = f"{parameter.name} of decoder {index}"
            if found := allowed.difference(where, came[index][parameter.name]):
                return found.within("weights", index, parameter.name)
    return None


def _missed_moment(moment: Moment) -> Difference | None:
    """The same of the optimizer's moments."""
    model, came = moment.model, moment.subject.moments()
    for parameter, bounds in model.step_bounds.items():
        name = parameter.name
        orders = enumerate(zip(model.optimizer.moments[name], bounds[1:], strict=True))
        for order, (due, bound) in orders:
            where = f"moment {order + 1} of {name}"
            if found := Allowed(due, bound).difference(where, came[name][order]):
                return found.within("moments", name, order)
    return None
