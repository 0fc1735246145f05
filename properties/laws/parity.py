"""P: what the cache answers and holds is what the tokens alone amount to."""

from typing import Final

from properties.difference import Difference, unlike, unlike_bits
from properties.laws.law import law
from properties.moment import FOREIGN, Moment
from properties.subject import Offer
from properties.tolerance import first_difference

NOTHING: Final = 0.0  # what storage holds before anybody writes


@law("P1", "logits")
def logits(moment: Moment) -> Difference | None:
    """The newest position of a replay has these logits."""
    answer = moment.answer
    if answer is None or answer.logits is None:
        return None
    due = moment.replayed.logits[moment.content.length - 1]
    return first_difference("the newest logits", due, answer.logits)


@law("P2", "rows", Offer.ROWS, Offer.STATE)
def rows(moment: Moment) -> Difference | None:
    """Every cached key and value of every block and position is the replay's."""
    length = moment.content.length
    if moment.after.caches[moment.cache] == moment.before.caches[moment.cache]:
        return None
    if not length or len(moment.rows) != moment.config.n_layers:
        return None
    replayed = moment.replayed
    for layer, held in enumerate(moment.rows):
        for name, due, came in (
            ("keys", replayed.keys[layer], held.keys),
            ("values", replayed.values[layer], held.values),
        ):
            place = f"{name} of block {layer}, [head, position, feature]"
            if found := first_difference(place, due[:, :length], came):
                return found
    return None


@law("P3", "split")
def split(moment: Moment) -> Difference | None:
    """A prompt prefilled whole, and one decoded to its end, agree to the bit."""
    if not moment.ends_sequence:
        return None
    content = moment.content
    whole = moment.oracle.lone(content.history, content.length, FOREIGN)
    parts = moment.lone
    where = f"after {content.n_prompt} of {content.length} tokens were prefilled"
    return unlike(f"logits, {where}", whole.logits[-1:], parts.logits[-1:]) or unlike(
        f"rows, {where}", whole.rows, parts.rows
    )


@law("P4", "causality", Offer.ROWS)
def causality(moment: Moment) -> Difference | None:
    """What was cached before stays to the bit."""
    length = moment.length_before
    if moment.answer is None or not 0 < length <= moment.content.length:
        return None
    for layer, (old, new) in enumerate(
        zip(moment.rows_before, moment.rows, strict=True)
    ):
        for name, due, came in (
            ("keys", old.keys, new.keys),
            ("values", old.values, new.values),
        ):
            where = f"{name} of block {layer}, positions below {length}"
            if found := unlike_bits(where, due, came[:, :length]):
                return found
    return None


@law("P5", "spare rows", Offer.SPARE)
def spare_rows(moment: Moment) -> Difference | None:
    """Whatever lies outside the prefix, all results are the same bits."""
    if not moment.ends_sequence:
        return None
    n_prompt = moment.content.n_prompt
    clean = moment.oracle.lone(moment.ahead, n_prompt, NOTHING)
    foul = moment.lone
    return unlike("logits with NaN in spare rows", clean.logits, foul.logits) or (
        unlike("rows with NaN in spare rows", clean.rows, foul.rows)
    )
