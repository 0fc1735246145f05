"""Refused optimizer steps: no value, revision, moment or count changed."""

from dataclasses import dataclass

from engine.errors.families import OptimizerError, cut, shown


@dataclass(eq=False, repr=False)
class DuplicateParameter(OptimizerError):
    """Two parameters have one name."""

    name: str

    def __str__(self) -> str:
        return f"parameter {cut(self.name)} was given twice"


@dataclass(eq=False, repr=False)
class ParameterSetChanged(OptimizerError):
    """The parameters are not those of the earlier steps."""

    expected: tuple[str, ...]
    actual: tuple[str, ...]

    def __str__(self) -> str:
        missing = [name for name in self.expected if name not in self.actual]
        surplus = [name for name in self.actual if name not in self.expected]
        told = f"missing {shown(missing)}, surplus {shown(surplus)}"
        return f"the parameters changed: {told}"


@dataclass(eq=False, repr=False)
class GradientMismatch(OptimizerError):
    """A gradient is missing, surplus, or does not fit its parameter."""

    index: int
    name: str
    reason: str

    def __str__(self) -> str:
        return f"gradient {self.index} ({cut(self.name)}): {self.reason}"


@dataclass(eq=False, repr=False)
class NonFiniteUpdate(OptimizerError):
    """A new value or moment would not be finite."""

    index: int
    name: str

    def __str__(self) -> str:
        name = cut(self.name)
        return f"the update of parameter {self.index} ({name}) is not finite"


@dataclass(eq=False, repr=False)
class ParameterBorrowed(OptimizerError):
    """A session reads the parameter, or another step is at work on it."""

    name: str

    def __str__(self) -> str:
        return f"parameter {cut(self.name)} is borrowed and cannot be replaced"
