"""``Place``: an argument of a public call, for a hostile value to be put there.

A value is typed ``Never`` on its way in: nobody should give it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Never, TypeAlias

from engine import EngineError, RequestError
from properties.hostile.twin import Twin
from properties.hostile.world import Phase, World

Perform: TypeAlias = Callable[[World, Never], object]
Shared: TypeAlias = Callable[[World | Twin, Never], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An argument of a public call.

    Attributes:
        call: the public name
        argument: which of its arguments
        phase: of the world in which the call is made
        perform: makes the call
        shared: the same, where the reference has the call too
        refusals: the errors of the contract that it may end with
        system: errors of Python or the system that its documentation names
        changes: whether the call changes something if it returns
    """

    call: str
    argument: str
    phase: Phase
    perform: Perform
    shared: Shared | None = None
    refusals: tuple[type[EngineError], ...]
    system: tuple[type[Exception], ...] = ()
    changes: bool = False

    def __str__(self) -> str:
        return f"{self.call}: {self.argument}"


def shared_place(call: str, argument: str, phase: Phase, perform: Shared) -> Place:
    """One that the reference has too."""
    return Place(
        call=call,
        argument=argument,
        phase=phase,
        perform=perform,
        shared=perform,
        refusals=(RequestError,),
        changes=True,
    )


def place_of(
    call: str, argument: str, perform: Perform, *refusals: type[EngineError]
) -> Place:
    """One beside a closed session."""
    return Place(
        call=call,
        argument=argument,
        phase=Phase.CLOSED,
        perform=perform,
        refusals=refusals,
    )
