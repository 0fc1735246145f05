"""The recorded refusals: which of our errors each variant of the original is."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import pytest

from engine import (
    CacheFull,
    ConfigMismatch,
    DecodeRequiresPrefill,
    DecodeTokenOutOfRange,
    EmptyPrompt,
    EngineError,
    EosTokenOutOfRange,
    InvalidTemperature,
    InvalidTopK,
    Parameter,
    ParameterBorrowed,
    ParameterMismatch,
    ParameterRevisionMismatch,
    PrefillRequiresEmpty,
    PromptTokenOutOfRange,
    PromptTooLong,
)

Refusal: TypeAlias = tuple[type[EngineError], dict[str, object]]
"""The class of an error and all of its fields."""

_TOKEN: Final = {"token_id": "token_id", "vocabulary_size": "vocab_size"}

# Each variant with our class, and our name of each recorded field.
_VARIANTS: Final[dict[str, tuple[type[EngineError], dict[str, str]]]] = {
    "EmptyPrompt": (EmptyPrompt, {}),
    "PromptTooLong": (
        PromptTooLong,
        {"tokens": "n_tokens", "capacity": "capacity", "max_positions": "capacity"},
    ),
    "PromptTokenOutOfBounds": (
        PromptTokenOutOfRange,
        {"position": "position", **_TOKEN},
    ),
    "PrefillRequiresEmpty": (PrefillRequiresEmpty, {"len": "length"}),
    "DecodeRequiresPrefill": (DecodeRequiresPrefill, {}),
    "DecodeTokenOutOfBounds": (DecodeTokenOutOfRange, _TOKEN),
    "Full": (CacheFull, {"capacity": "capacity"}),
    "EosTokenOutOfBounds": (EosTokenOutOfRange, _TOKEN),
    "InvalidTemperature": (InvalidTemperature, {"value": "value"}),
    "InvalidTopK": (InvalidTopK, {"top_k": "k", "vocabulary_size": "vocab_size"}),
    "ParameterValueBorrowed": (ParameterBorrowed, {"name": "name"}),
    "ModelConfigMismatch": (ConfigMismatch, {}),
    "ModelParameterMismatch": (ParameterMismatch, {"index": "index"}),
    "ModelParameterRevisionMismatch": (
        ParameterRevisionMismatch,
        {"index": "index", "cache": "cached", "model": "current"},
    ),
}


def refusal_by(call: Callable[[], object]) -> Refusal:
    """What the call raises."""
    with pytest.raises(EngineError) as caught:
        call()
    leaf = caught.type
    names = [name for name in leaf.__annotations__ if not name.startswith("_")]
    return leaf, {name: getattr(caught.value, name) for name in names}


def recorded_refusal(variant: str, parameters: Sequence[Parameter] = ()) -> Refusal:
    """What should have been raised; a parameter's name follows from its index."""
    inner = re.fullmatch(r"Sampling\((.*)\)", variant)
    their_class, _, body = (inner[1] if inner else variant).partition(" ")
    leaf, our_names = _VARIANTS[their_class]
    recorded: dict[str, object] = {
        our_names[their_name]: json.loads(value)
        for their_name, value in re.findall(r"(\w+): (\S+?),? ", body)
    }
    index = recorded.get("index")
    if isinstance(index, int):
        recorded["name"] = parameters[index].name
    return leaf, recorded
