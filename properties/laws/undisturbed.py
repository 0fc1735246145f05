"""The bits of an answer, beside those of a run in which nothing came between."""

from properties.difference import Difference, unlike
from properties.moment import Event, Moment


def disturbed_by(event: Event, moment: Moment) -> Difference | None:
    """An answer that is not the lone run's to the bit, though only this came between.

    Blame goes to what has come since the last answer that was right.
    """
    if event not in moment.since:
        return None
    return disturbed(moment, f"logits after {event.value}")


def disturbed(moment: Moment, where: str) -> Difference | None:
    """An answer that is not the lone run's to the bit."""
    answer = moment.answer
    if answer is None or answer.logits is None:
        return None
    return unlike(where, moment.lone_bits, moment.bits)
