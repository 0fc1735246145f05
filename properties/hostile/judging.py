"""The judge of hostile calls: what they may end with, and what they must leave."""

import copy
import pickle
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Never, TypeVar

from hypothesis import given, settings, strategies as st

from engine import EngineError
from properties.hostile.calls import OUTCOMES
from properties.hostile.iterables import COLLECTIONS
from properties.hostile.limit import little_memory
from properties.hostile.objects import OBJECTS
from properties.hostile.place import Place
from properties.hostile.scalars import NUMBERS, Maker
from properties.hostile.trap import Trap
from properties.hostile.twin import Twin
from properties.hostile.world import Phase, World
from properties.inconsistency import Inconsistent, require_alike

T = TypeVar("T")

KINDS: Final[Mapping[str, Maker]] = {**NUMBERS, **COLLECTIONS, **OBJECTS}
LONGEST: Final = 1_000
"""No error says more, in characters."""

_NUMBERS: Final = st.one_of(
    st.integers(-8, 100),
    st.sampled_from([2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 2**70]),
    st.sampled_from([10**400, -(10**400)]),
)


@dataclass(frozen=True, slots=True)
class Hostile:
    """A value that nobody should give, made anew for each call."""

    kind: str
    number: int

    def made(self, trap: Trap) -> object:
        """The value."""
        return KINDS[self.kind](trap, self.number)


HOSTILES: Final = st.builds(
    Hostile, st.sampled_from([*sorted(KINDS), *sorted(OBJECTS)]), _NUMBERS
)


class Census:
    """How often each call ended in each way, and each kind was given."""

    def __init__(self) -> None:
        self.outcomes = Counter[tuple[str, str]]()
        self.kinds = Counter[str]()

    def lacking(self) -> list[tuple[str, str]]:
        """Outcomes of calls that were not reached."""
        due = {(call, each) for call, ends in OUTCOMES.items() for each in ends}
        return sorted(due - self.outcomes.keys())


def hunt(folder: Path, census: Census, length: settings, place: Place) -> None:
    """Give lists of hostile values to one place.

    Args:
        folder: empty, and the current one when a call is made
        census: takes what was reached
        length: how many lists
        place: where they are given

    Raises:
        Inconsistent: the smallest list that the call did not withstand.
    """

    @settings(length)
    @given(st.lists(HOSTILES, min_size=1, max_size=12))
    def withstands(values: list[Hostile]) -> None:
        with chdir(folder):
            withstand(folder, census, place, values)

    with little_memory():
        withstands()


def withstand(
    folder: Path, census: Census, place: Place, values: Iterable[Hostile]
) -> None:
    """Give one place one value after another.

    Raises:
        Inconsistent: a call did not end as it must, or left a trace.
    """
    world = World(folder, place.phase)
    for value in values:
        outcome = attempt(world, place, value)
        census.outcomes[place.call, outcome] += 1
        census.kinds[value.kind] += 1
        if world.was_changed or (outcome == "returned" and place.changes):
            for path in folder.iterdir():
                path.unlink()
            world = World(folder, place.phase)
    world.require_sound()


def attempt(world: World, place: Place, hostile: Hostile) -> str:
    """Make one call, and say how it ended.

    Raises:
        Inconsistent: not as it must, or it left a trace.
    """
    trap = Trap(world.call_back)
    value = hostile.made(trap)
    before = world.everything()
    where = f"{place}, {hostile}"
    error = _raised(place.perform, world, value)
    outcome = _outcome(where, place, error, trap)
    if place.shared is not None:
        twin = _raised(place.shared, Twin(place.phase), hostile.made(Trap(_nothing)))
        require_alike(f"{where}, in the reference", _facts(twin), _facts(error))
    if world.was_changed and world.phase != Phase.CLOSED:
        raise Inconsistent(f"{where}: let a call in beside another")
    if not world.was_changed and (outcome != "returned" or not place.changes):
        require_alike(where, before, world.everything())
    return outcome


def _raised(
    perform: Callable[[T, Never], object], world: T, value: object
) -> BaseException | None:
    """What a call ends with, if it does not return."""
    try:
        with warnings.catch_warnings(action="ignore"):
            perform(world, value)  # type: ignore[arg-type] # what is tried
    except BaseException as error:  # noqa: BLE001 # whatever comes is judged
        return error
    return None


def _facts(error: BaseException | None) -> tuple[object, ...]:
    """The class of an error, and the numbers in it."""
    if error is None:
        return ()
    return type(error), [each for each in vars(error).values() if type(each) is int]


def _nothing() -> None:
    """What the reference is called back with."""


def _outcome(where: str, place: Place, error: BaseException | None, trap: Trap) -> str:
    if error is None:
        return "returned"
    if any(error is own for own in trap.raised):
        return "own"
    if type(error) is TypeError:
        return "TypeError"
    if isinstance(error, place.system):
        return "system"
    if not isinstance(error, place.refusals):
        raise Inconsistent(f"{where}: raised {type(error).__name__}") from error
    require_readable(where, error)
    return "refused"


def require_readable(where: str, error: EngineError) -> None:
    """It says in a short sentence what it is, and can be copied and pickled."""
    for text in (str(error), repr(error)):
        if len(text) > LONGEST:
            raise Inconsistent(f"{where}: says {len(text)} characters")
    for duplicate in (copy.copy, _pickled):
        try:
            again = duplicate(error)
        except BaseException as failure:
            if duplicate is _pickled and _has_unpicklable(error):
                return
            raise Inconsistent(f"{where}: {error!r} cannot be copied") from failure
        require_alike(where, type(error), type(again))
        require_alike(where, vars(error).keys(), vars(again).keys())


def _pickled(error: EngineError) -> object:
    return pickle.loads(pickle.dumps(error))  # noqa: S301 # what was just pickled


def _has_unpicklable(error: EngineError) -> bool:
    try:
        pickle.dumps(tuple(vars(error).values()))
    except BaseException:  # noqa: BLE001 # the caller's own object decides what comes
        return True
    return False
