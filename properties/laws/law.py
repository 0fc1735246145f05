"""``Law``: a property with an ID, and the one function that checks it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from properties.difference import Difference
from properties.moment import Moment
from properties.subject import Offer

Holds: TypeAlias = Callable[[Moment], Difference | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """What must hold after every call.

    Attributes:
        id: as failures name it
        name: in a word or two
        needs: what an engine must offer to be judged by it
        difference: the first thing that breaks it, if any
        redundant: why no engine breaks this law alone; empty if one does
    """

    id: str
    name: str
    needs: frozenset[Offer]
    difference: Holds
    redundant: str = ""


def law(
    law_id: str, name: str, *needs: Offer, redundant: str = ""
) -> Callable[[Holds], Law]:
    """Make a law of the function that checks it."""

    def made(holds: Holds) -> Law:
        return Law(
            id=law_id,
            name=name,
            needs=frozenset(needs),
            difference=holds,
            redundant=redundant,
        )

    return made
