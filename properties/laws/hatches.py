"""E: nothing that is handed out leads back inside."""

import numpy as np

from engine.arrays import Array
from properties.calls import Copy
from properties.difference import Difference, unlike
from properties.laws.law import ANSWERED, END, law
from properties.laws.undisturbed import disturbed_by
from properties.moment import Event, Moment
from properties.subject import Offer


@law("E1 aliasing", END, Offer.STATE)
def aliasing(moment: Moment) -> Difference | None:
    """Writing wherever an array that was handed out can be written changes nothing."""
    before = moment.after
    returned = [logits for logits, _ in moment.outputs]
    for array in (*moment.subject.handed_out(), *returned):
        _scribble(array)
    after = moment.subject.observe()
    return unlike("the engine after writing outside", before, after)


@law("E2 copies", ANSWERED, Offer.COPIES, Offer.STATE)
def copies(moment: Moment) -> Difference | None:
    """A copy equals its source, and shares nothing with it."""
    if isinstance(moment.call, Copy):
        source, copy = moment.after.caches[moment.cache], moment.after.caches[-1]
        if found := unlike("the copy", source, copy):
            return found
        last = len(moment.after.caches) - 1
        mine, others = (
            {address for pair in moment.subject.storage(index) for address in pair}
            for index in (moment.cache, last)
        )
        if shared := mine & others:
            return Difference(where="buffers shared by copies", due=set(), came=shared)
    return disturbed_by(Event.COPY, moment)


def _scribble(array: Array) -> None:
    """Overwrite an array and what it is a view of, as far as possible."""
    target: object = array
    while isinstance(target, np.ndarray):
        try:
            target.flags.writeable = True
            target[...] = 7.0
        except ValueError:
            pass  # it cannot be written, which is the point
        target = target.base
