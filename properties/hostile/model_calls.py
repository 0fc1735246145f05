"""Calls that make, step and save models, and each of their arguments in turn."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Final, Never

from engine import (
    AdamW,
    AdamWConfig,
    ConstructionError,
    Decoder,
    DecoderConfig,
    FileRejected,
    InvalidConfig,
    InvalidOptimizerConfig,
    OptimizerError,
    Parameter,
    ParameterLayout,
    SplitMix64,
    load,
    save,
)
from properties.hostile.place import Perform, Place, place_of
from properties.hostile.world import ADAMW, CONFIG, SAVED, World

_LAST: Final = -1  # the gain of the final norm, of four features


def _step(argument: str, perform: Perform) -> Place:
    return replace(place_of("step", argument, perform, OptimizerError), changes=True)


def _spoiled(element: Never) -> Never:
    return [element, 1.0, 1.0, 1.0]  # type: ignore[misc] # what is tried


STEPS: Final = (
    _step("parameters", lambda w, v: w.optimizer.step(v, w.ones)),
    _step(
        "parameter",
        lambda w, v: w.optimizer.step([*w.decoder.parameters[:_LAST], v], w.ones),
    ),
    _step("gradients", lambda w, v: w.optimizer.step(w.decoder.parameters, v)),
    _step(
        "gradient",
        lambda w, v: w.optimizer.step(w.decoder.parameters, [*w.ones[:_LAST], v]),
    ),
    _step(
        "element of a gradient",
        lambda w, v: w.optimizer.step(
            w.decoder.parameters, [*w.ones[:_LAST], _spoiled(v)]
        ),
    ),
    replace(
        _step(
            "optimizer's config",
            lambda w, v: AdamW(v).step(w.decoder.parameters, w.ones),
        ),
        call="AdamW",
    ),
)


def _renamed(world: World, name: Never) -> Decoder:
    *others, last = world.decoder.parameters
    return Decoder.from_parameters(CONFIG, [*others, Parameter(name, last.value)])


MODELS: Final = (
    place_of("Parameter", "name", lambda _, v: Parameter(v, [1.0])),
    replace(
        place_of("Parameter", "value", lambda _, v: Parameter("a", v)),
        system=(MemoryError,),
    ),
    place_of("Decoder", "name of a parameter", _renamed, ParameterLayout),
    place_of(
        "Decoder",
        "config",
        lambda w, v: Decoder.from_parameters(v, w.decoder.parameters),
        ParameterLayout,
    ),
    place_of(
        "Decoder",
        "parameters",
        lambda _, v: Decoder.from_parameters(CONFIG, v),
        ParameterLayout,
    ),
    place_of(
        "Decoder",
        "parameter",
        lambda w, v: Decoder.from_parameters(
            CONFIG, [*w.decoder.parameters[:_LAST], v]
        ),
        ParameterLayout,
    ),
    place_of(
        "Decoder",
        "surplus parameter",
        lambda w, v: Decoder.from_parameters(CONFIG, [*w.decoder.parameters, v]),
        ParameterLayout,
    ),
    place_of("initialize", "config", lambda w, v: Decoder.initialize(v, w.rng)),
    place_of(
        "initialize", "rng", lambda _, v: Decoder.initialize(CONFIG, v), InvalidConfig
    ),
    place_of("SplitMix64", "state", lambda _, v: SplitMix64(v), InvalidConfig),
    replace(
        place_of("SplitMix64", "state set", lambda w, v: setattr(w.rng, "state", v)),
        refusals=(InvalidConfig,),
        changes=True,
    ),
)


def _records() -> Iterator[Place]:
    """The constructors that judge each of their fields."""
    for field in fields(DecoderConfig):
        yield place_of(
            "DecoderConfig", field.name, _with(CONFIG, field.name), InvalidConfig
        )
    for field in fields(AdamWConfig):
        yield place_of(
            "AdamWConfig", field.name, _with(ADAMW, field.name), InvalidOptimizerConfig
        )


def _with(record: DecoderConfig | AdamWConfig, field: str) -> Perform:
    return lambda _, v: replace(record, **{field: v})


def _file(call: str, argument: str, perform: Perform) -> Place:
    made = place_of(call, argument, perform, ConstructionError)
    return replace(made, system=(OSError,), changes=True)


RECORDS: Final = tuple(_records())

FILES: Final = (
    _file("save", "path", lambda w, v: save(v, w.decoder)),
    _file("save", "decoder", lambda _, v: save(SAVED, v)),
    _file("save", "optimizer", lambda w, v: save(SAVED, w.decoder, v)),
    _file("save", "rng", lambda w, v: save(SAVED, w.decoder, None, v)),
    replace(_file("load", "path", lambda _, v: load(v)), refusals=(FileRejected,)),
)
