"""Programs that are run: here, or in a process of their own on some engine."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from properties.calls import Call
from properties.chapter import CONFIG
from properties.judge import PropertyFailed
from properties.mutants import Mutant
from properties.script import Fault, Script, Weights

MOVED: Final = "(1 + 2.0**-52)"
"""Far inside of every bound."""


def then(line: str, *more: str) -> tuple[str, str]:
    """A line, and the same with others behind it."""
    return line, "\n".join((line, *more))


def mutant(
    killer: str,
    module: str,
    lines: tuple[str, str],
    calls: tuple[Call, ...],
    faults: tuple[Fault, ...] = (),
) -> Mutant:
    weights = Weights(seed=38)
    line, replacement = lines
    return Mutant(
        name="wrong",
        kind="OWN",
        report="own",
        says="",
        module=f"engine.{module}",
        line=line,
        replacement=replacement,
        killer=killer,
        witness=Script(config=CONFIG, weights=weights, calls=calls, faults=faults),
    )


def message_of(text: str, names: Mapping[str, object] = MappingProxyType({})) -> str:
    """What a program says where it fails; nothing if it passes."""
    try:
        exec(text, {"__name__": "__main__", **names})  # noqa: S102 # what is tested
    except AssertionError as error:
        return str(error)
    return ""


def message_on_its_engine(text: str, failure: PropertyFailed) -> str:
    """The same on the engine that failed, as its own module imports it."""
    perform = vars(type(failure.moment.subject))["perform"]
    return message_of(text, {"__builtins__": perform.__builtins__})


def is_short(text: str) -> bool:
    lines = text.splitlines()
    return len(lines) <= 25 and max(map(len, lines)) <= 88


def beginning(failure: PropertyFailed) -> str:
    """How the message of its program begins: law and place."""
    place = failure.broken[failure.law].where
    return f"{failure.law.id} {failure.law.name}, {place}: due "
