"""Mutants of the suite itself: one line made blind, and an engine that it lets pass.

The data lies in ``properties/mutations/suite``, a table a mutant. Each names a wrong
engine, and what shows that it is wrong: a script, or all that a maker makes, or what a
script has to reach. ``properties.blindness`` shows it.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, ValidationError

from properties.cells import WEIGHTS
from properties.chapter import CONFIG
from properties.mutants import (
    FOLDER,
    Line,
    Mutant,
    MutantRejected,
    mutants,
    tables_in,
)
from properties.script import Script, to_json, told_of

Shown: TypeAlias = Literal["script", "reach", "enumeration", "requests", "faults"]
"""What an engine is judged by: one script, what that reaches, or one of the makers."""


class SuiteMutant(Line):
    """A line that makes the suite blind, and the wrong engine that it then lets pass.

    Attributes:
        name: what the suite does wrong, in a few words
        says: what it sees no more, in a sentence
        engine: the wrong one: a mutant by its name, or a line of its own
        shown: what the engine is judged by
        call: of a maker's scripts, those alone that have a call of this kind; of the
            fault sweep, the call that fails
        start: of the fault sweep, where that call fails
        floors: outcomes that the script has to reach, by kind of call
        witness: the script; the engine's own, if the table has no calls
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    says: str
    engine: str | Line
    shown: Shown = "script"
    call: str = ""
    start: str = ""
    floors: tuple[tuple[str, str], ...] = ()
    witness: Script

    @property
    def wrong(self) -> Line | Mutant:
        """The line that makes the engine wrong."""
        return _engines()[self.engine] if isinstance(self.engine, str) else self.engine


@cache
def suite_mutants() -> tuple[SuiteMutant, ...]:
    """All of them, file by file.

    Raises:
        MutantRejected: one is not as it must be, or two have one name.
    """
    return tuple(_mutant(fields) for fields in tables_in(FOLDER / "suite"))


def _mutant(fields: Mapping[str, object]) -> SuiteMutant:
    """The mutant of one table, whose calls and faults are its witness."""
    name, engine = fields.get("name"), fields.get("engine")
    begun = Script(config=CONFIG, weights=WEIGHTS, calls=())
    if isinstance(engine, str):
        if engine not in _engines():
            message = f"{name}: no engine is called {engine}"
            raise MutantRejected(message)
        begun = _engines()[engine].witness
    witness, own = json.loads(to_json(begun)), dict(fields)
    if "calls" in own:
        witness |= {"calls": own.pop("calls"), "faults": own.pop("faults", ())}
    try:
        return SuiteMutant.model_validate_json(json.dumps({**own, "witness": witness}))
    except ValidationError as error:
        message = f"{name}: {told_of(error)}"
        raise MutantRejected(message) from None


@cache
def _engines() -> Mapping[str, Mutant]:
    return {each.name: each for each in mutants()}
