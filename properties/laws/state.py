"""S: lengths and phases, and what may come in between without a trace."""

from properties.calls import Bind, Close, Reset
from properties.laws.law import law
from properties.laws.refusals import PHASE, wrongly_answered
from properties.laws.undisturbed import disturbed, disturbed_by
from properties.moment import Event, Moment
from properties.oracle import bits_of
from properties.subject import Offer
from properties.tolerance import Difference


@law("S1", "length", Offer.OUTPUTS, Offer.ROWS)
def length(moment: Moment) -> Difference | None:
    """Every block has the history's length; an answer is of its newest position."""
    answer, due = moment.answer, moment.content.length
    if answer is None:
        return None
    for layer, rows in enumerate(moment.rows):
        if rows.length != due:
            where = f"length of block {layer}"
            return Difference(where=where, due=due, came=rows.length)
    came = answer.position, answer.length
    if answer.logits is not None and came != (due - 1, due):
        where = "position and length of the answer"
        return Difference(where=where, due=(due - 1, due), came=came)
    return None


@law("S2", "phase", Offer.REFUSALS)
def phase(moment: Moment) -> Difference | None:
    """Prefill only when empty, decode only after it, never past the capacity."""
    return wrongly_answered(moment, PHASE)


@law("S3", "reset", Offer.STATE)
def reset(moment: Moment) -> Difference | None:
    """A reset forgets tokens and counters; afterwards all is as with a new one."""
    if moment.answer is None or not isinstance(moment.call, Reset):
        return disturbed_by(Event.RESET, moment)
    before = moment.before.caches[moment.cache]
    after = moment.after.caches[moment.cache]
    for name, due, came in (
        ("length", 0, after.length),
        ("stored bits", before.bits, after.bits),
        ("buffers", before.storage, after.storage),
    ):
        if due != came:
            return Difference(where=f"{name} after a reset", due=due, came=came)
    return None


@law("S4", "rebind", Offer.STATE, Offer.SESSIONS)
def rebind(moment: Moment) -> Difference | None:
    """Closing and binding change nothing of the cache, nor what comes afterwards."""
    if moment.answer is not None and isinstance(moment.call, Bind | Close):
        before, after = moment.before.caches, moment.after.caches
        if before != after:
            call = moment.call.call
            return Difference(where=f"caches after a {call}", due=before, came=after)
    return disturbed_by(Event.REBIND, moment)


@law("S5", "isolation", Offer.STATE)
def isolation(moment: Moment) -> Difference | None:
    """What one cache does, no other sees; what was returned stays."""
    if moment.is_last:
        for index, (logits, bits) in enumerate(moment.outputs):
            if bits_of(logits) != bits:
                where = f"the logits of answer {index}, at the end of the run"
                return Difference(where=where, due=bits, came=bits_of(logits))
    if moment.answer is not None:
        for index, due in enumerate(moment.before.caches):
            came = moment.after.caches[index]
            if index != moment.cache and due != came:
                where = f"cache {index} after a call on cache {moment.cache}"
                return Difference(where=where, due=due, came=came)
    return disturbed_by(Event.OTHERS, moment)


@law("S6", "determinism")
def determinism(moment: Moment) -> Difference | None:
    """The same calls twice give the same bits."""
    if moment.since:
        return None
    return disturbed(moment, "logits, though nothing came between")
