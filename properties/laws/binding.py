"""B: a cache belongs to one decoder as it is, which nobody changes meanwhile."""

from engine import (
    ConfigMismatch,
    ParameterBorrowed,
    ParameterMismatch,
    ParameterRevisionMismatch,
)
from properties.calls import Step, Train
from properties.difference import Difference, unlike
from properties.laws.law import DISAGREED, DONE, law
from properties.laws.refusals import wrongly_answered
from properties.laws.undisturbed import disturbed_by
from properties.moment import Event, Met, Moment
from properties.subject import Offer
from properties.tolerance import first_difference


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
    model, subject = moment.model, moment.subject
    for index, came in enumerate(subject.weights()):
        for name, due in model.weights(index).items():
            place = f"{name} of decoder {index}"
            if found := first_difference(place, due, came[name]):
                return found
    moments = subject.moments()
    for name, pair in model.optimizer.moments.items():
        for order, due in enumerate(pair):
            place = f"moment {order + 1} of {name}"
            if found := first_difference(place, due, moments[name][order]):
                return found
    known = dict.fromkeys(each for made in model.decoders for each in made.parameters)
    due_revisions = tuple(parameter.revision for parameter in known)
    due_counts = model.optimizer.n_steps, due_revisions
    counts = moment.answer.n_steps, moment.after.parameters[1]
    return unlike("steps taken, and revisions", due_counts, counts)
