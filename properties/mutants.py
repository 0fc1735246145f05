"""Mutants: engines with one line made wrong, as data, and what must reject each.

The data lies in ``properties/mutations``, a table a mutant. A mutant is the engine's
own text but for one line, which must occur exactly once; its witness is a script of a
few calls that passes on the engine and fails on the mutant by the property named, its
killer. So no mutant that has a killer is equivalent to the engine. Equivalents are kept
too, with the reason; their witness passes on both.

Source:
    DeMillo, Lipton and Sayward 1978, for mutants; the reports are named one by one.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from textwrap import indent
from typing import Annotated, Final

from pydantic import Field, ValidationError

from engine import AdamWConfig, DecoderConfig
from engine.arrays import Array
from properties.anew import Anew, is_of_engine, text_of
from properties.calls import Record
from properties.cells import WEIGHTS
from properties.chapter import CONFIG
from properties.script import Script, told_of
from properties.subject import Make, Subject

FOLDER: Final = files("properties") / "mutations"
OWN: Final = "own"
MOST_CALLS: Final = 6
_INTERRUPTS: Final = "properties.interrupts"


class MutantRejected(ValueError):
    """What was given is no mutant, or its line is not in its module exactly once."""


class Line(Record):
    """One line of a module, and what stands in its place.

    Attributes:
        module: which has the line
        line: all of it, but for its indentation
        replacement: a line or more, indented as it was
    """

    module: str
    line: str
    replacement: str

    def text(self) -> str:
        """The module's text with the other line.

        Raises:
            MutantRejected: the line is not there, or more than once.
        """
        lines = text_of(self.module).splitlines()
        places = [n for n, each in enumerate(lines) if each.strip() == self.line]
        if len(places) != 1:
            message = f"{self.module} has {len(places)} lines: {self.line}"
            raise MutantRejected(message)
        (place,) = places
        margin = lines[place][: len(lines[place]) - len(self.line)]
        lines[place] = indent(self.replacement, margin)
        return "\n".join(lines) + "\n"


class Mutant(Line):
    """A line of the engine made wrong, and what tells it from the right one.

    Attributes:
        name: what the engine does wrong, in a few words
        kind: the class of fault, a word in capitals
        report: the public report that it is rebuilt from, or ``own``
        says: what went wrong there, in a sentence
        killer: ID of the property that must reject it; none of an equivalent
        equivalent: why nothing can tell it from the engine; none of all others
        scene: a call to interrupt at its bytecodes, where no script can tell it
        stride: from one of these to the next; fewer than there are where it shows
        witness: what passes on the engine, and on the mutant breaks its killer
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    kind: Annotated[str, Field(pattern=r"^[A-Z]+$")]
    report: Annotated[str, Field(pattern=r"^(own|[\w.-]+/[\w.-]+#\d+)$")]
    says: str
    killer: str = ""
    equivalent: str = ""
    scene: str = ""
    stride: Annotated[int, Field(ge=1)] = 1
    witness: Script

    def make(self) -> Make:
        """Makes subjects of the judge from that engine."""
        engine = Anew({self.module: self.text()}, _is_judged)
        built_in: Make = engine.module("properties.built_in").BuiltIn
        own_config = engine.module("engine").AdamWConfig  # has a class of its own

        def made(
            config: DecoderConfig, weights: Mapping[str, Array], optimizer: AdamWConfig
        ) -> Subject:
            return built_in(config, weights, own_config(**asdict(optimizer)))

        return made

    def suite(self) -> Anew:
        """The engine with the other line, and the whole suite around it."""
        return Anew({self.module: self.text()}, _is_of_suite)

    def sweep(self) -> str:
        """Interrupt its scene, and tell what was found, if anything.

        The hunts for interrupts call the engine by name, so they are loaded anew too.
        """
        interrupts = self.suite().module(_INTERRUPTS)
        try:
            scene = interrupts.SCENES[self.scene]
            interrupts.sweep(self.scene, scene, stride=self.stride)
        except interrupts.HalfDone as found:
            return str(found)
        return ""


def _is_judged(name: str) -> bool:
    return is_of_engine(name) or name == "properties.built_in"


def _is_of_suite(name: str) -> bool:
    return is_of_engine(name) or name.startswith("properties")


@cache
def mutants() -> tuple[Mutant, ...]:
    """All of them, file by file.

    Raises:
        MutantRejected: one is not as it must be, or two have one name.
    """
    return tuple(_mutant(fields) for fields in tables_in(FOLDER))


def tables_in(folder: Traversable) -> Iterator[Mapping[str, object]]:
    """The tables of a folder's files, each of another name.

    Raises:
        MutantRejected: two have one name.
    """
    named = set[object]()
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".toml"):
            for fields in tomllib.loads(path.read_text("utf-8"))["mutant"]:
                if fields["name"] in named:
                    message = f"two mutants are called {fields['name']}"
                    raise MutantRejected(message)
                named.add(fields["name"])
                yield fields


def _mutant(fields: Mapping[str, object]) -> Mutant:
    """The mutant of one table, which says only what its witness has of its own."""
    witness = {
        "config": {**asdict(CONFIG), **_table(fields, "config")},
        "weights": {**WEIGHTS.model_dump(), **_table(fields, "weights")},
        "calls": fields.get("calls", ()),
        "faults": fields.get("faults", ()),
    }
    parts = {"config", "weights", "calls", "faults"}
    own = {name: value for name, value in fields.items() if name not in parts}
    try:
        read = Mutant.model_validate_json(json.dumps({**own, "witness": witness}))
    except ValidationError as error:
        message = f"{fields.get('name')}: {told_of(error)}"
        raise MutantRejected(message) from None
    if bool(read.killer) == bool(read.equivalent):
        message = f"{read.name}: it has a killer, or is an equivalent"
        raise MutantRejected(message)
    if len(read.witness.calls) > MOST_CALLS:
        message = f"{read.name}: its witness has {len(read.witness.calls)} calls"
        raise MutantRejected(message)
    return read


def _table(fields: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = fields.get(name, {})
    assert isinstance(value, Mapping)
    return value
