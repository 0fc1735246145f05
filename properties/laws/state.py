"""S: lengths and phases, and what may come in between without a trace."""

from properties.calls import Bind, Close, Reset
from properties.difference import Difference, bits_of, unlike, within
from properties.laws.law import AGREED, ANSWERED, DISAGREED, LOGITS, law
from properties.laws.refusals import PHASE, wrongly_answered
from properties.laws.undisturbed import disturbed, disturbed_by
from properties.moment import Event, Met, Moment
from properties.subject import Offer


@law("S1 length", ANSWERED, Offer.OUTPUTS, Offer.ROWS)
def length(moment: Moment) -> Difference | None:
    """Every block has the history's length; an answer is of its newest position."""
    due = moment.content.length
    for layer, rows in enumerate(moment.rows):
        if rows.length != due:
            where = f"length of block {layer}"
            place = "length", layer
            return Difference(where=where, due=due, came=rows.length, place=place)
    came = moment.answer.position, moment.answer.length
    if moment.met is Met.LOGITS and came != (due - 1, due):
        where = "position and length of the answer"
        return Difference(where=where, due=(due - 1, due), came=came, place=("answer",))
    return None


@law("S2 phase", DISAGREED, Offer.REFUSALS)
def phase(moment: Moment) -> Difference | None:
    """Prefill only when empty, decode only after it, never past the capacity."""
    return wrongly_answered(moment, PHASE)


@law("S3 reset", ANSWERED)
def reset(moment: Moment) -> Difference | None:
    """A reset forgets tokens and counters; afterwards all is as with a new one."""
    if not isinstance(moment.call, Reset):
        return disturbed_by(Event.RESET, moment)
    if Offer.STATE not in moment.subject.offers:
        return None
    before = moment.before.caches[moment.cache]
    after = moment.after.caches[moment.cache]
    # The counters are the law C1's.
    due = before._replace(length=0, work=after.work)
    if found := unlike("the cache after a reset", due, after):
        return found.within("engine", "caches", moment.cache)
    storage = tuple(moment.subject.storage(moment.cache))
    return within(unlike("its buffers", tuple(moment.storage), storage), "storage")


@law("S4 rebind", ANSWERED, Offer.STATE, Offer.SESSIONS)
def rebind(moment: Moment) -> Difference | None:
    """Closing and binding change nothing of the cache, nor what comes afterwards."""
    if isinstance(moment.call, Bind | Close):
        where = f"caches after a {moment.call.call}"
        found = unlike(where, moment.before.caches, moment.after.caches)
        return within(found, "engine", "caches")
    return disturbed_by(Event.REBIND, moment)


@law("S5 isolation", (*AGREED, Met.END))
def isolation(moment: Moment) -> Difference | None:
    """What one cache does, no other sees; what was returned stays."""
    if moment.met is Met.END:
        for index, (logits, bits) in enumerate(moment.outputs):
            where = f"the logits of answer {index}, at the end of the run"
            if found := unlike(where, bits, bits_of(logits)):
                return found.within("outputs", index)
        return None
    for index, due in enumerate(moment.before.caches):
        where = f"cache {index} after a call on cache {moment.cache}"
        came = due if index == moment.cache else moment.after.caches[index]
        if found := unlike(where, due, came):
            return found.within("engine", "caches", index)
    return disturbed_by(Event.OTHERS, moment)


@law("S6 determinism", LOGITS)
def determinism(moment: Moment) -> Difference | None:
    """The same calls twice give the same bits."""
    if moment.since:
        return None  # whatever came between has a law of its own
    return disturbed("logits, nothing came between", moment)
