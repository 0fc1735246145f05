"""C: the work that is counted is the work that was done."""

from itertools import pairwise

from engine import WorkOverflow
from properties.difference import Difference
from properties.laws.law import AGREED, DISAGREED, LOGITS, law
from properties.laws.refusals import wrongly_answered
from properties.moment import Moment
from properties.subject import Offer


@law("C1 exact", AGREED, Offer.COUNTERS)
def exact(moment: Moment) -> Difference | None:
    """All counters of every cache are the closed form of its tokens."""
    for index, cache in enumerate(moment.model.caches):
        came = moment.after.caches[index].work
        if came != cache.work:
            where = f"counters of cache {index}"
            place = "work", index
            return Difference(where=where, due=cache.work, came=came, place=place)
    return None


@law("C2 measured", LOGITS, Offer.OUTPUTS)
def measured(moment: Moment) -> Difference | None:
    """Score values, counted where they were formed, are the closed form, twice."""
    config, length = moment.config, moment.content.length
    lanes, replayed = config.n_layers * config.n_heads, moment.replayed.replay
    for name, due, came in (
        ("of the newest row", lanes * length, moment.answer.attention_scores),
        ("of the replay", lanes * len(replayed.logits) ** 2, replayed.attention_scores),
    ):
        if due != came:
            where, place = f"score values {name}", ("scores", name)
            return Difference(where=where, due=due, came=came, place=place)
    return None


@law(
    "C3 growth",
    LOGITS,
    Offer.OUTPUTS,
    redundant="counts that are exact at every length (C2) grow as they must",
)
def growth(moment: Moment) -> Difference | None:
    """From row to row the score values grow by the same number."""
    if not moment.ends_sequence:
        return None
    growths = [
        (after[1] - before[1]) / (after[0] - before[0])
        for before, after in pairwise(moment.scores)
    ]
    if len(set(growths)) <= 1:
        return None
    where, place = "growth a row", ("growth",)
    return Difference(where=where, due="one number", came=growths, place=place)


@law("C4 overflow", DISAGREED, Offer.REFUSALS, Offer.COUNTERS)
def overflow(moment: Moment) -> Difference | None:
    """A counter at its limit refuses the call."""
    return wrongly_answered(moment, (WorkOverflow,))
