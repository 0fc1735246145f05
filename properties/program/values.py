"""Lines that make what a script means by its numbers: weights, gradients, faults."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from typing import Final

import numpy as np

from engine import AdamWConfig, DecoderConfig
from properties.calls import Generate, Step
from properties.drawn import SQUARE_OVERFLOWS
from properties.program.lines import INDENTED, filled, listed, said
from properties.script import Fault, Script, Weights

NAN: Final = 'float("nan")'
ERROR: Final = "error"


def decoder_lines(script: Script) -> Iterator[str]:
    """The configuration, and the first decoder."""
    config = asdict(script.config)
    if script.config.dtype == "float64":
        del config["dtype"]
    yield from filled("config = DecoderConfig(", _keywords(config))
    weights = script.weights
    if is_plain(weights):
        yield f"decoder = Decoder.initialize(config, SplitMix64({weights.seed}))"
        return
    yield from _parameter_lines(weights, is_wide=script.config.dtype == "float64")
    yield "decoder = Decoder.from_parameters(config, parameters)"


def is_plain(weights: Weights) -> bool:
    """Whether they are what ``Decoder.initialize`` makes."""
    is_scaled = weights.scale != 1 or weights.gain_spread != 0
    return not is_scaled and not weights.factors


def _parameter_lines(weights: Weights, *, is_wide: bool) -> Iterator[str]:
    """As ``initial_weights`` has them, to the bit."""
    if weights.gain_spread:
        yield f"rng = SplitMix64({weights.seed})"
        yield "drawn = Decoder.initialize(config, rng).weights"
        gain = f"n: 1 + {weights.gain_spread!r} * (2 * rng.units(w.size) - 1)"
        yield from filled(
            "drawn |= {", [gain, "for n, w in drawn.items() if w.ndim < 2}"]
        )
    else:
        yield f"drawn = Decoder.initialize(config, SplitMix64({weights.seed})).weights"
    if not is_wide:
        yield "drawn = {n: w.astype(float) for n, w in drawn.items()}"
    yield from _factor_lines(weights)
    value = f"{_factor(weights)}w"
    if not is_wide:
        yield from filled("scaled = {", [f"n: {value}", "for n, w in drawn.items()}"])
        value = "w.astype(config.dtype)"
    made = "drawn" if is_wide else "scaled"
    parts = [f"Parameter(n, {value})", f"for n, w in {made}.items()]"]
    yield from filled("parameters = [", parts)


def _factor(weights: Weights) -> str:
    """What each value is multiplied by."""
    if weights.factors:
        return "factors.get(n, 1.0) * " if weights.scale == 1 else "factors[n] * "
    scale = weights.scale
    return "" if scale == 1 else f"({scale!r} if w.ndim > 1 else 1.0) * "


def _factor_lines(weights: Weights) -> Iterator[str]:
    if not weights.factors:
        return
    scales = {name: _scale(name, weights) for name, _ in weights.factors}
    factors = [f"{said(n)}: {by * scales[n]!r}" for n, by in weights.factors]
    head = "factors = {"
    if weights.scale != 1:
        parts = [
            f"n: {weights.scale!r} if w.ndim > 1 else 1.0",
            "for n, w in drawn.items()}",
        ]
        yield from filled(head, parts)
        head = "factors |= {"
    yield from filled(head, listed(factors, "}"))


def _scale(name: str, weights: Weights) -> float:
    return 1.0 if name.endswith(".gain") else weights.scale


def optimizer_lines(config: AdamWConfig) -> Sequence[str]:
    """The one optimizer of a script."""
    return filled("optimizer = AdamW(AdamWConfig(", _keywords(asdict(config), "))"))


def gradient_lines(
    step: Step, config: DecoderConfig, decoder: str, parameters: str
) -> Iterator[str]:
    """Those of a step; ``parameters`` is what they are given to."""
    flaw = step.flaw
    kind, at = ("", 0) if flaw is None else (flaw.kind, flaw.index)
    if kind == "duplicate":
        yield f"{parameters} = [*{decoder}.parameters, {decoder}.parameters[{at}]]"
    if kind == "subset":
        yield f"{parameters} = list({decoder}.parameters)"
        yield f"del {parameters}[{at}]"
    yield f"u = SplitMix64({step.seed}).units"
    scale = "" if step.scale == 1 else f"{step.scale!r} * "
    one = "2 * u(p.value.size).reshape(p.value.shape) - 1"
    one = f"{scale}({one})" if scale else one
    yield from filled("gradients = [", [one, f"for p in {parameters}]"])
    if config.dtype != "float64":
        yield "gradients = [each.astype(config.dtype) for each in gradients]"
    yield from _spoiling(kind, f"gradients[{at}]", config)


def _spoiling(kind: str, one: str, config: DecoderConfig) -> Sequence[str]:
    """What a flaw makes of gradients; none of it is of their parameters."""
    large = float(np.finfo(config.dtype).max) ** SQUARE_OVERFLOWS
    spoils = {
        "missing": "gradients.pop()",
        "surplus": "gradients.append(np.zeros(1, config.dtype))",
        "shape": f"{one} = np.zeros((1, 2, 3), config.dtype)",
        "nan": f"{one}.flat[-1] = {NAN}",
        "overflow": f"{one}.flat[-1] = {large!r}",
    }
    return [spoils[kind]] if kind in spoils else []


def request_lines(call: Generate) -> Sequence[str]:
    """What is asked for."""
    mode, sampling = "Greedy()", call.sampling
    if sampling is not None:
        heat = said(float(sampling.temperature))
        mode = f"TopK(temperature={heat}, k={sampling.k!r})"
    fields = [
        f"mode={mode}",
        f"eos_token={call.eos_token!r}",
        f"max_new_tokens={call.max_new_tokens!r}",
    ]
    return filled("request = GenerationRequest(", listed(fields, ")"), INDENTED)


def rebuilt(decoder: str, indices: Collection[int], n_parameters: int) -> list[str]:
    """The parameters of a decoder, some of them as new objects of equal values."""
    if not indices:
        return [f"parameters = {decoder}.parameters"]
    if len({*indices}) == n_parameters:
        parts = ["Parameter(p.name, p.value)", f"for p in {decoder}.parameters]"]
        return filled("parameters = [", parts, INDENTED)
    lines = [f"parameters = list({decoder}.parameters)"]
    for index in indices:
        one = f"parameters[{index}]"
        lines += [f"{one} = Parameter({one}.name, {one}.value)"]
    return lines


def probe_lines(
    faults: Sequence[Fault],
    error: str,
    tells: bool,  # noqa: FBT001 # all of them are of one draft
    scribbles: bool,  # noqa: FBT001 # see above
) -> Iterator[str]:
    """A probe that raises once as many ``points`` have come as are planned.

    Args:
        faults: of a script, at least one
        error: what it raises
        tells: whether it keeps where it ``struck``
        scribbles: whether it overwrites what it is shown, as the judge's does
    """
    is_plain = not (tells or scribbles)
    yield f"def probe({'*_' if is_plain else 'stage, layer, position, value'}):"
    if scribbles:
        yield "    with suppress(ValueError):"
        yield "        value.flags.writeable = True"
        yield f"        value[...] = {NAN}"
    yield f"    if {_comes(faults)}:  # the point to fail at is 0"
    if tells:
        yield "        struck.append((str(stage), layer, position))"
    yield f"        raise {error}"


def error_of(faults: Sequence[Fault]) -> str:
    """What a probe raises: a class, or ``error`` where there are several."""
    kinds = {fault.raises for fault in faults}
    return str(kinds.pop()) if len(kinds) == 1 else ERROR


def points(faults: Sequence[Fault], fault: Fault | None) -> str:
    """What a probe counts up or down to 0 by; without a fault it never gets there."""
    if persist(faults):
        return f"count({'-math.inf' if fault is None else -fault.point})"
    return "[]" if fault is None else f"[*range({fault.point + 1})]"


def persist(faults: Sequence[Fault]) -> bool:
    """Whether some of them strike from then on."""
    return any(fault.persists for fault in faults)


def _comes(faults: Sequence[Fault]) -> str:
    is_once = "points and not points.pop()"
    return "next(points) >= 0" if persist(faults) else is_once


def _keywords(fields: dict[str, object], end: str = ")") -> Sequence[str]:
    return listed([f"{name}={said(each)}" for name, each in fields.items()], end)
