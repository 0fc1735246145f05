"""P: what the cache answers and holds is what the tokens alone amount to."""

import numpy as np

from engine.arrays import Array
from properties.calls import Decode, Prefill
from properties.difference import Difference, unlike, unlike_bits, within
from properties.laws.law import ANSWERED, LOGITS, law
from properties.moment import NOTHING, Met, Moment
from properties.replayed import Standard
from properties.subject import Offer
from reference import Replay


@law("P1 logits", (Met.LOGITS, Met.DISAGREED))
def logits(moment: Moment) -> Difference | None:
    """Logits are those of a full replay at its newest position."""
    if moment.met is Met.DISAGREED:
        return _missing(moment)
    is_told = Offer.OUTPUTS in moment.subject.offers
    if is_told and (found := _other_dtype("the newest logits", moment, moment.logits)):
        return found.within("logits")
    if moment.error <= 1:
        return None
    found = moment.newest.difference("the newest logits", moment.logits)
    return within(found, "logits")


@law("P2 rows", ANSWERED, Offer.ROWS, Offer.STATE)
def rows(moment: Moment) -> Difference | None:
    """Every cached key and value of every block and position is the replay's."""
    length, cache = moment.content.length, moment.cache
    if not length or moment.after.caches[cache] == moment.before.caches[cache]:
        return None
    key = moment.content.history, moment.row_bits
    if key in moment.oracle.sound:
        return None
    held = [(each.keys, each.values) for each in moment.rows]
    for pair in held:
        for each in pair:
            if found := _other_dtype("cached rows", moment, each):
                return found.within("rows")
    if found := moment.replayed.due.missed_row("", held, length):
        return found
    moment.oracle.sound.add(key)
    return None


@law("P3 split", LOGITS)
def split(moment: Moment) -> Difference | None:
    """A prompt prefilled whole, and one decoded to its end, agree to the bit."""
    if not moment.ends_sequence:
        return None
    content = moment.content
    whole = moment.oracle.lone(content.history, content.length, NOTHING)
    due, came = (
        (whole.logits[-1], whole.rows),
        (moment.lone.logits[-1], moment.lone.rows),
    )
    where = f"{content.n_prompt} of {content.length} tokens prefilled (logits, rows)"
    return within(unlike(where, due, came), "split")


@law("P4 causality", LOGITS, Offer.ROWS)
def causality(moment: Moment) -> Difference | None:
    """What was cached before stays to the bit."""
    length = moment.length_before
    for layer, (old, new) in enumerate(
        zip(moment.rows_before, moment.rows, strict=False)
    ):
        for name, due, came in (
            ("keys", old.keys, new.keys),
            ("values", old.values, new.values),
        ):
            where = f"{name} of block {layer}, positions below {length}"
            if found := unlike_bits(where, due, came[:, :length]):
                return found.within("earlier rows", layer, name)
    return None


@law("P5 spare rows", LOGITS, Offer.SPARE, Offer.STATE)
def spare_rows(moment: Moment) -> Difference | None:
    """Whatever lies outside the prefix, all results are the same bits."""
    if found := _not_foul(moment):
        return found
    is_same = moment.is_undisturbed
    if is_same and moment.ends_sequence and Offer.ROWS in moment.subject.offers:
        is_same = moment.row_bits == moment.lone.rows
    if is_same:
        return None  # the run has NaN there, the lone one zeros
    where = "with NaN in spare rows, the run"
    return within(unlike(where, moment.lone, moment.lone_and_foul), "spare")


def _not_foul(moment: Moment) -> Difference | None:
    """Whether the foreign value is where the judge has put it, and nowhere else."""
    config, bits = moment.config, moment.before.caches[moment.cache].bits
    spare = config.capacity - moment.length_before
    due = 2 * config.n_layers * config.kv_width * spare
    came = int(np.isnan(np.frombuffer(bits, config.dtype)).sum())
    return within(unlike("NaNs in storage before the call", due, came), "NaNs")


@law("P7 truth", LOGITS)
def truth(moment: Moment) -> Difference | None:
    """Engine and replay are each within one bound of a replay in a wider dtype."""
    rows = moment.row_bits if moment.ends_sequence else ()
    key = moment.content.history, moment.ahead, moment.bits, rows
    if key in moment.oracle.true or moment.error > 1:
        return None  # it was looked at before; or it is for the law P1
    found = _missed_truth(moment)
    if found is None:
        moment.oracle.true.add(key)
    return found


def _missing(moment: Moment) -> Difference | None:
    """No answer where one was due; a typed refusal is for the laws of refusals."""
    has_raised = isinstance(moment.came, Exception)
    is_ours = has_raised and Offer.REFUSALS not in moment.subject.offers
    lacks_logits = not has_raised and isinstance(moment.call, Prefill | Decode)
    if moment.due is not None or not (is_ours or lacks_logits):
        return None
    where, place = "no answer came", ("no logits",)
    return Difference(where=where, due="an answer", came=repr(moment.came), place=place)


def _other_dtype(what: str, moment: Moment, came: Array) -> Difference | None:
    """Numbers that were widened or narrowed on the way, though they may be right."""
    if came.dtype == moment.config.float_type:
        return None
    where, due, place = f"the dtype of {what}", moment.config.dtype, ("dtype",)
    return Difference(where=where, due=due, came=came.dtype.name, place=place)


def _missed_truth(moment: Moment) -> Difference | None:
    exact = moment.replayed.truth
    if exact is None:
        return None  # the machine has no wider dtype
    length = moment.content.length
    found = exact.logits(length).difference("the newest logits", moment.logits)
    if found or not moment.ends_sequence:
        return within(found, "logits")
    if (moment.content.history, moment.row_bits) in moment.oracle.sound:
        held = [(each.keys, each.values) for each in moment.rows]
        found = exact.missed_row("", held, length)
    return found or _missed_by_replay(exact, moment.replayed.replay)


def _missed_by_replay(truth: Standard, replay: Replay) -> Difference | None:
    """The same of a replay: then the bound is wrong, or the reference."""
    for length, row in enumerate(replay.logits, start=1):
        where = f"the replay's logits at length {length}"
        if found := truth.logits(length).difference(where, row):
            return found.within("replay")
    pairs = zip(replay.keys, replay.values, strict=True)
    found = truth.missed_row("the replay's ", pairs, len(replay.logits))
    return within(found, "replay")
