"""``Law``: a property with an ID, and the one function that checks it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from properties.difference import Difference
from properties.moment import Met, Moment
from properties.subject import Offer

Holds: TypeAlias = Callable[[Moment], Difference | None]

AGREED: Final = (Met.LOGITS, Met.DONE, Met.REFUSED)
ANSWERED: Final = (Met.LOGITS, Met.DONE)
LOGITS: Final = (Met.LOGITS,)
DONE: Final = (Met.DONE,)
REFUSED: Final = (Met.REFUSED,)
RAISED: Final = (Met.REFUSED, Met.DISAGREED)
DISAGREED: Final = (Met.DISAGREED,)
END: Final = (Met.END,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """What must hold after every call.

    Attributes:
        id: as failures name it
        name: in a word or two
        says: one sentence
        met: the calls that are judged by it, by how they were met
        needs: what an engine must offer to be judged by it
        difference: the first thing that breaks it, if any
        redundant: why no engine breaks this law alone; empty if one does
    """

    id: str
    name: str
    says: str
    met: Sequence[Met]
    needs: frozenset[Offer]
    difference: Holds
    redundant: str = ""


def law(
    named: str, met: Sequence[Met], *needs: Offer, redundant: str = ""
) -> Callable[[Holds], Law]:
    """Make a law of the function that checks it; it is named by ID and by words."""
    law_id, _, name = named.partition(" ")

    def made(holds: Holds) -> Law:
        return Law(
            id=law_id,
            name=name,
            says=(holds.__doc__ or "").strip(),
            met=met,
            needs=frozenset(needs),
            difference=holds,
            redundant=redundant,
        )

    return made
