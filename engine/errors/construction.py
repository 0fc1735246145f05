"""Objects that cannot be made: nothing was."""

from dataclasses import dataclass

from engine.errors.families import ConstructionError, cut, shown


@dataclass(eq=False, repr=False)
class InvalidConfig(ConstructionError):
    """A size, constant, counter or generator state is out of its domain."""

    field: str
    value: object
    reason: str

    def __str__(self) -> str:
        return f"{self.field}={shown(self.value)}: {self.reason}"


@dataclass(eq=False, repr=False)
class InvalidOptimizerConfig(ConstructionError):
    """A constant of the optimizer is out of its domain."""

    field: str
    value: object
    reason: str

    def __str__(self) -> str:
        return f"{self.field}={shown(self.value)}: {self.reason}"


@dataclass(eq=False, repr=False)
class ParameterLayout(ConstructionError):
    """A parameter is not the one that the configuration has at this index."""

    index: int
    name: str
    reason: str

    def __str__(self) -> str:
        return f"parameter {self.index} ({cut(self.name)}): {self.reason}"


@dataclass(eq=False, repr=False)
class FileRejected(ConstructionError):
    """A file is not a decoder that this version can read."""

    path: str
    part: str
    reason: str

    def __str__(self) -> str:
        return f"{cut(self.path)}: {self.part}: {self.reason}"
