"""A place in a snapshot of everything, as an expression on public names."""

from collections.abc import Sequence
from typing import TypeAlias

from properties.model import Model
from properties.program.calls import Statements
from properties.program.told import ProgramRefused
from reference.session import ParameterModel

Path: TypeAlias = Sequence[str | int]


def picked(array: str, number: Path) -> str:
    """One number of an array in row-major order, or all of them."""
    return f"float({array}.flat[{number[0]}])" if number else f"{array}.tolist()"


class Snapshots:
    """Places in an ``Observation``, by the names that a program has.

    Args:
        calls: which has the names
        model: as the calls leave it
    """

    def __init__(self, calls: Statements, model: Model) -> None:
        self._calls = calls
        self._model = model

    def place(self, path: Path) -> str:
        """What stands there."""
        what, *rest = path
        if what == "caches":
            return self._of_cache(rest)
        if what == "parameters":
            return self._of_parameters(rest)
        if what == "optimizer":
            self._calls.need_optimizer()
            return _inside("optimizer.snapshot()", rest)
        return "rng.state"

    def _of_cache(self, rest: Path) -> str:
        index, field, *inner = rest
        assert isinstance(index, int)
        cache = self._calls.caches[index]
        if field in {"length", "work"}:
            return _inside(cache, [field, *inner])
        if field == "evidence":
            return f"{cache}.snapshot().evidence"
        if not inner:
            return f"{cache}.snapshot().bits"
        bits = f"np.frombuffer({cache}.snapshot().bits, config.dtype)"
        return f"float({bits}[{inner[0]}])"

    def _of_parameters(self, rest: Path) -> str:
        """Of all decoders, each parameter once, in the order of a snapshot."""
        decoders = self._model.decoders
        known = list(dict.fromkeys(p for each in decoders for p in each.parameters))
        match rest:
            case [1, int(index)] if index < len(known):
                return f"{self._parameter(known[index])}.revision"
            case [0, int(number)]:
                for parameter in known:
                    size = self._model.values[parameter].size
                    if number < size:
                        return picked(f"{self._parameter(parameter)}.value", [number])
                    number -= size
            case _:
                pass
        raise ProgramRefused("there are other parameters than there must be")

    def _parameter(self, parameter: ParameterModel) -> str:
        index, decoder = next(
            (index, each)
            for index, each in enumerate(self._model.decoders)
            if parameter in each.parameters
        )
        place = decoder.parameters.index(parameter)
        return f"{self._calls.decoders[index]}.parameters[{place}]"


def _inside(start: str, path: Path) -> str:
    """A place inside of a record; in bytes, a number."""
    for step in path:
        if start.endswith((".first", ".second")):
            return f"float(np.frombuffer({start})[{step}])"
        start += f".{step}" if isinstance(step, str) else f"[{step}]"
    return start
