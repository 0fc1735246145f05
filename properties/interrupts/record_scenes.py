"""Making, reading and copying what never changes, and so is never half done."""

import copy
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Final

from engine import (
    AdamWConfig,
    DecoderConfig,
    Moment,
    Parameter,
    Work,
)
from properties.interrupts.scene import Arrange, Scene, each_refused
from properties.interrupts.world import ADAMW, ONE_BLOCK


def _configuration() -> Scene:
    def call() -> object:
        config = copy.copy(DecoderConfig(**asdict(ONE_BLOCK)))
        sizes = config.head_dim, config.kv_width, config.group_size
        return config, *sizes, config.float_type

    return Scene(call)


def _refused_configuration() -> Scene:
    of = partial(replace, ONE_BLOCK)
    changes: tuple[dict[str, object], ...] = (
        {"vocab_size": 0},
        {"d_ff": "one"},
        {"rope_base": -1.0},
        {"d_model": 3},
        {"capacity": 2**62},
    )
    refusals = each_refused(
        *(partial(of, **each) for each in changes),
        partial(ONE_BLOCK.__setstate__, None),
        partial(DecoderConfig.__init__, ONE_BLOCK, **asdict(ONE_BLOCK)),
    )
    return Scene(refusals)


def _constants() -> Scene:
    return Scene(lambda: copy.copy(AdamWConfig(**asdict(ADAMW))))


def _refused_constants() -> Scene:
    of = partial(replace, ADAMW)
    changes = {"beta1": 1.0}, {"epsilon": "little"}, {"weight_decay": 1e9}
    return Scene(each_refused(*(partial(of, **each) for each in changes)))


def _parameter() -> Scene:
    def call() -> object:
        made = Parameter("gain", [1.0, 2.0])
        return repr(made), made.name, made.value.tobytes(), made.revision

    return Scene(call)


def _refused_parameter() -> Scene:
    made = partial(Parameter, "gain", ["one"])  # type: ignore[arg-type] # what must be refused
    return Scene(each_refused(made))


def _counters() -> Scene:
    def call() -> object:
        work = Work(decode_tokens=2).validated()
        work.require_room(work)
        return work.plus(work)

    return Scene(call)


def _refused_counters() -> Scene:
    full = Work(decode_tokens=2**64 - 1)
    refusals = each_refused(
        partial(full.plus, full),
        partial(full.require_room, full),
        Work(decode_tokens=-1).validated,
    )
    return Scene(refusals)


def _moments() -> Scene:
    def call() -> object:
        moment = Moment.zero("gain", (2,))
        return moment, tuple(each.tobytes() for each in moment.arrays())

    return Scene(call)


RECORD_SCENES: Final[Mapping[str, Arrange]] = {
    "configuration": _configuration,
    "refused configuration": _refused_configuration,
    "constants": _constants,
    "refused constants": _refused_constants,
    "parameter": _parameter,
    "refused parameter": _refused_parameter,
    "counters": _counters,
    "refused counters": _refused_counters,
    "moments": _moments,
}
