"""The bits of an answer, beside those of a run in which nothing came between."""

from properties.difference import Difference, unlike, within
from properties.moment import Event, Met, Moment


def disturbed_by(event: Event, moment: Moment) -> Difference | None:
    """Logits that are not the lone run's to the bit, though only this came between.

    Blame goes to what has come since the last answer that was right.
    """
    if event not in moment.since or moment.met is not Met.LOGITS:
        return None
    return disturbed(f"logits after {event.value}", moment)


def disturbed(where: str, moment: Moment) -> Difference | None:
    """The same, whatever came between; foreign bits are the law P5's."""
    if moment.is_undisturbed:
        return None
    due = moment.bits_in(moment.lone_and_foul)
    return within(unlike(where, due, moment.bits), "undisturbed")
