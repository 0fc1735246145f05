"""The families of errors: each is a promise about the state that was left."""

from typing import Final

_LONGEST: Final = 200  # characters of one value


class EngineError(Exception):
    """Base of every error that this project raises on purpose."""

    def __repr__(self) -> str:
        values = (f"{name}={shown(getattr(self, name))}" for name in self._fields())
        return f"{type(self).__name__}({', '.join(values)})"

    def __reduce__(self) -> tuple[object, ...]:
        # By fields: ``args`` has none of those that were given as keywords.
        values = tuple(getattr(self, name) for name in self._fields())
        return type(self), values, vars(self)

    def _fields(self) -> tuple[str, ...]:
        names: tuple[str, ...] = getattr(self, "__match_args__", ())
        return names


def shown(value: object) -> str:
    """A value for a sentence, whatever it says of itself, or fails to.

    Python refuses to print very long integers.
    """
    try:
        return cut(repr(value))
    except Exception:  # noqa: BLE001 # errors must not hide behind their own sentence
        kind = type(value).__name__
        if issubclass(type(value), int):
            return f"<{kind} of {int.bit_length(value)} bits>"  # type: ignore[arg-type] # one it is
        return f"<{kind}>"


def cut(text: str) -> str:
    """The beginning of what would be too long for a sentence."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class RequestError(EngineError):
    """The call was refused; nothing changed."""


class BindingError(EngineError):
    """This cache does not belong to this decoder; nothing changed."""


class OptimizerError(EngineError):
    """The step was refused; no value, revision, moment or count changed."""


class ConstructionError(EngineError, ValueError):
    """What was given or read is no valid object; nothing was made."""
