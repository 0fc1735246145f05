"""E: nothing that is handed out leads back inside; what is saved comes back."""

import numpy as np

from engine.arrays import Array
from properties.calls import Copy, Restore
from properties.difference import Difference, bits_of, unlike, within
from properties.laws.law import ANSWERED, DONE, END, law
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
    found = unlike("the engine after writing outside", before, after)
    return within(found, "written outside")


@law("E2 copies", ANSWERED, Offer.COPIES, Offer.STATE)
def copies(moment: Moment) -> Difference | None:
    """A copy equals its source, and shares nothing with it."""
    if isinstance(moment.call, Copy):
        source, copy = moment.after.caches[moment.cache], moment.after.caches[-1]
        if found := unlike("the copy", source, copy):
            return found.within("copy")
        last = len(moment.after.caches) - 1
        mine, others = (
            {address for pair in moment.subject.storage(index) for address in pair}
            for index in (moment.cache, last)
        )
        if shared := mine & others:
            where, place = "buffers shared by copies", ("shared",)
            return Difference(where=where, due=set(), came=shared, place=place)
    return disturbed_by(Event.COPY, moment)


@law("E3 restore", DONE, Offer.FILES, Offer.STATE)
def restore(moment: Moment) -> Difference | None:
    """What was saved and loaded is as it was, to the bit, and nothing else changes."""
    call = moment.call
    if not isinstance(call, Restore):
        return None
    names_and_bits = [
        tuple((name, bits_of(value)) for name, value in values.items())
        for values in moment.subject.weights()
    ]
    due, came = names_and_bits[call.decoder], names_and_bits[-1]
    if found := unlike("what was loaded (names and values)", due, came):
        return found.within("loaded")
    bits, revisions = moment.before.parameters
    known, counts = moment.after.parameters
    fresh = revisions + (0,) * len(due)
    kept = moment.after._replace(parameters=(known[: len(bits)], counts))
    expected = moment.before._replace(parameters=(bits, fresh))
    return within(unlike("the engine after loading", expected, kept), "engine")


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
