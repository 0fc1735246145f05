"""A: a call that fails on its way leaves nothing half-way, however often it fails."""

from properties.calls import Prefill
from properties.difference import Difference, unlike, within
from properties.laws.law import RAISED, law
from properties.laws.refusals import decoded_on_a_copy
from properties.laws.undisturbed import disturbed_by
from properties.moment import Event, Met, Moment
from properties.subject import Answer, Observation, Offer


@law("A1 fault", RAISED)
def fault(moment: Moment) -> Difference | None:
    """A call that fails leaves every bit; a prefill leaves its cache empty."""
    return None if _is_repeated(moment) else _lost(moment) or _left(moment)


@law("A2 retry", (Met.LOGITS, Met.REFUSED))
def retry(moment: Moment) -> Difference | None:
    """After a failure comes what would have come without it."""
    return None if _is_repeated(moment) else _continued(moment, Event.FAULT)


@law("A4 compound", (Met.LOGITS, *RAISED))
def compound(moment: Moment) -> Difference | None:
    """So it is when calls fail again and again."""
    if not _is_repeated(moment):
        return None
    found = _lost(moment) or _left(moment)
    return found or _continued(moment, Event.SECOND_FAULT)


def _is_repeated(moment: Moment) -> bool:
    """Whether no answer that was right has come between two failures."""
    if moment.has_failed:
        return Event.FAULT in moment.since
    return Event.SECOND_FAULT in moment.since


def _lost(moment: Moment) -> Difference | None:
    """Of a planned fault: that it struck, where it struck, or what it raised."""
    point, raised = moment.injected
    came = moment.came
    if moment.struck is None:
        return None
    if isinstance(came, Answer):
        due = repr(moment.due)
        return Difference(
            where="the fault", due=due, came="an answer", place=("outcome",)
        )
    if found := unlike("the point of the fault", moment.struck, point):
        return found.within("point")
    is_typed = Offer.REFUSALS in moment.subject.offers
    if is_typed and raised is not came and raised is not came.__cause__:
        return Difference(
            where="what was raised",
            due=repr(raised),
            came=repr(came),
            place=("raised",),
        )
    return None


def _left(moment: Moment) -> Difference | None:
    """What a failure must not leave."""
    is_seen = Offer.STATE in moment.subject.offers
    if moment.met is not Met.REFUSED or not moment.has_failed or not is_seen:
        return None
    before, after = moment.before, moment.after
    if isinstance(moment.call, Prefill):
        before, after = (_without_rows(each, moment.cache) for each in (before, after))
        storage = moment.subject.storage(moment.cache)
        if found := unlike("its buffers", tuple(moment.storage), tuple(storage)):
            return found.within("storage")
    after = after._replace(generator=before.generator)  # is the law R4's
    where = f" at {moment.struck}" if moment.struck else ""
    found = unlike(f"the engine after a failure{where}", before, after)
    return within(found, "engine")


def _without_rows(observation: Observation, cache: int) -> Observation:
    """A failed prefill may leave other bits outside its cache's empty prefix."""
    caches = list(observation.caches)
    caches[cache] = caches[cache]._replace(bits=b"")
    return observation._replace(caches=tuple(caches))


def _continued(moment: Moment, event: Event) -> Difference | None:
    """What comes next, and what would come."""
    found = disturbed_by(event, moment)
    return found or (decoded_on_a_copy(moment) if moment.has_failed else None)
