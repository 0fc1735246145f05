"""Refused bindings: the cache's rows were not computed by this decoder as it is."""

from dataclasses import dataclass

from engine.errors.families import BindingError, cut, shown


@dataclass(eq=False, repr=False)
class ConfigMismatch(BindingError):
    """The decoder's configuration is not the one the cache was made for."""

    field: str
    cached: float
    given: float

    def __str__(self) -> str:
        return (
            f"the cache was made for {self.field}={shown(self.cached)}, "
            f"the decoder has {shown(self.given)}"
        )


@dataclass(eq=False, repr=False)
class ParameterMismatch(BindingError):
    """A parameter is another object, whatever its value."""

    index: int
    name: str

    def __str__(self) -> str:
        return (
            f"parameter {self.index} ({cut(self.name)}) is not the object "
            "that the cache was made for"
        )


@dataclass(eq=False, repr=False)
class ParameterRevisionMismatch(BindingError):
    """A parameter was replaced since the cache was made."""

    index: int
    name: str
    cached: int
    current: int

    def __str__(self) -> str:
        return (
            f"parameter {self.index} ({cut(self.name)}) is at revision "
            f"{self.current}, "
            f"the cache was made at revision {shown(self.cached)}"
        )


@dataclass(eq=False, repr=False)
class ParameterInStep(BindingError):
    """An optimizer step is at work on a parameter."""

    index: int
    name: str

    def __str__(self) -> str:
        name = cut(self.name)
        return f"parameter {self.index} ({name}) is inside an optimizer step"
