"""R1-R3: refusals are the ones that are due, change nothing, and are forgotten."""

from collections.abc import Mapping
from typing import Final

from engine import (
    CacheFull,
    ConfigMismatch,
    DecodeRequiresPrefill,
    EngineError,
    ParameterBorrowed,
    ParameterMismatch,
    ParameterRevisionMismatch,
    PrefillRequiresEmpty,
    PromptTooLong,
    StageFailed,
    WorkOverflow,
    ZeroEnergyRow,
)
from properties.difference import Difference, bits_of, unlike, within
from properties.laws.law import RAISED, REFUSED, law
from properties.laws.undisturbed import disturbed_by
from properties.moment import NOTHING, Event, Met, Moment
from properties.settling import is_of_numbers
from properties.subject import Answer, Offer

_REFUSALS: Final = frozenset({Offer.REFUSALS})
_BINDING: Final = _REFUSALS | {Offer.SESSIONS}
PHASE: Final = (PrefillRequiresEmpty, PromptTooLong, DecodeRequiresPrefill, CacheFull)
OWNED: Final[Mapping[type[BaseException], frozenset[Offer]]] = {
    **dict.fromkeys(PHASE, _REFUSALS),
    ConfigMismatch: _BINDING,
    ParameterMismatch: _BINDING,
    ParameterRevisionMismatch: _BINDING | {Offer.STEPS},
    ParameterBorrowed: _REFUSALS | {Offer.STEPS},
    WorkOverflow: _REFUSALS | {Offer.COUNTERS},
}
"""Refusals of which another law says when they are due, and what that law needs."""


def wrongly_answered(
    moment: Moment, owned: tuple[type[Exception], ...]
) -> Difference | None:
    """A call that was made though it had to be refused in this way, or the reverse."""
    if isinstance(moment.due, owned):
        where, due = "the call was made", repr(moment.due)
        return Difference(where=where, due=due, came="an answer", place=("outcome",))
    if moment.due is None and isinstance(moment.came, owned):
        where, came = "the call was refused", repr(moment.came)
        return Difference(where=where, due="an answer", came=came, place=("outcome",))
    return None


@law("R1 unchanged", REFUSED, Offer.REFUSALS, Offer.STATE)
def unchanged(moment: Moment) -> Difference | None:
    """A refused call leaves every bit of everything."""
    if moment.has_failed:
        return None  # which is for the laws A1 and A4
    before = moment.before
    after = moment.after._replace(generator=before.generator)  # is the law R4's
    return within(unlike("the engine after a refusal", before, after), "engine")


@law("R2 exact", RAISED, Offer.REFUSALS)
def exact(moment: Moment) -> Difference | None:
    """A refusal has the class and the fields that are due."""
    due, came = moment.due, moment.came
    if moment.struck is None and (is_of_numbers(due) or is_of_numbers(came)):
        return None  # which is for the law N1
    if moment.met is Met.DISAGREED:
        wrong = came if due is None else due
        if isinstance(wrong, Answer):
            return None  # which lacks something, and that is for its own law
        if moment.struck is not None and isinstance(came, Answer):
            return None  # which is for the law A1
        needs = OWNED.get(type(wrong))
        if needs is not None and needs <= moment.subject.offers:
            return None
    elif facts(due) == facts(came):
        return None
    shown = "an answer" if due is None else repr(due)
    where, place = "what was raised", ("outcome",)
    return Difference(where=where, due=shown, came=repr(came), place=place)


@law("R3 usable", (Met.LOGITS, Met.REFUSED), Offer.REFUSALS)
def usable(moment: Moment) -> Difference | None:
    """After a refusal comes what would have come without it."""
    if moment.has_failed:
        return None  # which is for the laws A2 and A4
    return disturbed_by(Event.REFUSAL, moment) or decoded_on_a_copy(moment)


def facts(error: object) -> tuple[type[object], str]:
    """Class and fields, but for prose: a ``reason`` says what its fields cannot."""
    if not isinstance(error, EngineError):
        return type(error), ""
    names: tuple[str, ...] = getattr(error, "__match_args__", ())
    cause = error.__cause__
    if isinstance(error, StageFailed) and isinstance(cause, ZeroEnergyRow):
        return type(error), f"{error!r} from {cause!r}"
    if isinstance(error, StageFailed):  # an index depends on how rows are laid out
        return type(error), f"{error!r} from {type(cause).__name__}"
    return type(error), repr(
        [getattr(error, name) for name in names if name != "reason"]
    )


def decoded_on_a_copy(moment: Moment) -> Difference | None:
    """Right after a call without effect one more token decodes as if without it."""
    content = moment.content
    if moment.met is not Met.REFUSED or moment.is_followed or not content.length:
        return None
    goes_on = len(moment.ahead) > content.length
    tokens = moment.ahead if goes_on else (*content.history, 0)
    is_offered = Offer.COPIES in moment.subject.offers
    if not is_offered or not moment.kept.can_decode(tokens[content.length]):
        return None
    run = moment.oracle.lone(tokens, content.n_prompt, NOTHING)
    due = run.logits[content.length + 1 - content.n_prompt]
    try:
        answer = moment.subject.decode_on_copy(moment.cache, tokens[content.length])
    except Exception as error:  # noqa: BLE001 # whatever it is, it is no answer
        came = repr(error).encode()
    else:
        came = bits_of(answer)
    found = unlike("logits of a decode on a copy afterwards", due, came)
    return within(found, "decode on a copy")
