"""N: numbers at every scale, and what is none."""

import numpy as np

from properties.difference import Difference, within
from properties.laws.law import LOGITS, RAISED, law
from properties.laws.refusals import facts
from properties.moment import Moment
from properties.settling import is_of_numbers
from properties.subject import Offer


@law("N1 finite", RAISED, Offer.REFUSALS)
def finite(moment: Moment) -> Difference | None:
    """What is not finite fails by stage and block, whatever would become of it."""
    due, came = moment.due, moment.came
    is_ours = is_of_numbers(due) or is_of_numbers(came)
    if moment.struck is not None or not is_ours or facts(due) == facts(came):
        return None
    shown = "an answer" if due is None else repr(due)
    where, place = "what failed", ("outcome",)
    return Difference(where=where, due=shown, came=repr(came), place=place)


@law("N2 scale", LOGITS, redundant="P1 and P2 judge every scale by its own bound")
def scale(moment: Moment) -> Difference | None:
    """Logits whose squares are no floats are still the replay's."""
    if moment.error <= 1:
        return None
    largest = float(np.finfo(moment.config.float_type).max)
    if np.abs(moment.newest.due).max() <= np.sqrt(largest):
        return None
    return within(moment.newest.difference("huge logits", moment.logits), "logits")
