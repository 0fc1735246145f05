"""A run as data: a configuration, weights, calls in order, and planned faults."""

from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic_core import ErrorDetails

from engine import AdamWConfig, DecoderConfig
from properties.calls import Call, Index, Record, Word

LARGE_STEP: Final = AdamWConfig(
    learning_rate=0.5, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.1
)
"""A step that leaves no weight near where it was."""


class Weights(Record):
    """Weights by seed: matrices are Xavier-uniform times ``scale``.

    Gains are uniform in 1 ± ``gain_spread``. Each of the ``factors`` is of one
    parameter, by name.
    """

    seed: Word
    scale: Annotated[float, Field(gt=0, le=1e300)] = 1.0
    gain_spread: Annotated[float, Field(ge=0)] = 0.0
    factors: tuple[tuple[str, float], ...] = ()


FaultKind: TypeAlias = Literal[
    "Exception", "MemoryError", "FloatingPointError", "KeyboardInterrupt"
]
FAULTS: Final[tuple[FaultKind, ...]] = get_args(FaultKind)
"""What a fault may raise; the last one is no ``Exception``."""


class Fault(Record):
    """An exception at a fallible point of a call, once or from then on.

    Points are counted from 0; a call that has fewer meets none. From then on means all
    further points of the call and every point of later calls, until the next fault of
    the script takes its place, or the script ends.
    """

    call: Index
    point: Index
    raises: FaultKind
    persists: bool = False


class Script(Record):
    """One run. Two scripts are the same run exactly if they are equal."""

    version: Literal[1] = 1
    config: DecoderConfig
    weights: Weights
    optimizer: AdamWConfig = LARGE_STEP
    calls: tuple[Annotated[Call, Field(discriminator="call")], ...]
    faults: tuple[Fault, ...] = ()

    @model_serializer(mode="wrap")
    def _with_its_version(
        self, fields: SerializerFunctionWrapHandler
    ) -> dict[str, object]:
        return {"version": self.version, **fields(self)}


class ScriptRejected(ValueError):
    """What was given is no script, or names what does not exist; nothing was run."""


def to_json(script: Script) -> str:
    """The script, a call a line, without the fields that have their default."""
    text = script.model_dump_json(exclude_defaults=True)
    return text.replace('{"call":', '\n  {"call":') + "\n"


def from_json(text: str | bytes) -> Script:
    """The script that ``to_json`` wrote.

    Raises:
        ScriptRejected: the text is no JSON, or no script of this version.
    """
    try:
        return Script.model_validate_json(text)
    except ValidationError as error:
        raise ScriptRejected(told_of(error)) from None


def told_of(error: ValidationError) -> str:
    """What is wrong with a record, place by place."""
    return "; ".join(map(_told, error.errors()))


def _told(error: ErrorDetails) -> str:
    place = ".".join(map(str, error["loc"]))
    return f"{place}: {error['msg']}" if place else error["msg"]
