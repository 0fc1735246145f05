"""Weights with which one stage overflows first, for every stage that can.

An aim turns the exponents of a few factors as one exponent grows. The values of one
stage grow with it, and what is made of them stays as large as ever: below the edge an
engine must still agree with a replay. The factors are powers of two, so they round
nothing, and how large a stage is far below its edge tells where the edge is.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from engine import Stage
from engine.stages import Place

Exponents: TypeAlias = Mapping[str, int]
"""Of two, by the name of the parameter that is multiplied."""
Turn: TypeAlias = Callable[[int], Exponents]

SPREAD: Final = 16
"""So many powers of two a projection's input is raised by, as weights are finite."""
_NOTHING: Final = -5_000  # this power of two is 0

_TABLE, _LAST_GAIN = "token_embedding.weight", "final_norm.gain"
_GAIN, _FFN_GAIN = "attention_norm.gain", "ffn_norm.gain"
_QUERY, _KEY = "attention.query.weight", "attention.key.weight"
_VALUE, _OUTPUT = "attention.value.weight", "attention.output.weight"
_GATE, _UP, _DOWN = "ffn.gate.weight", "ffn.up.weight", "ffn.down.weight"

UNREACHABLE: Final[Mapping[Stage, str]] = {
    Stage.EMBEDDING: "it is a copy of weights, and those are finite",
    Stage.WEIGHTS: "none is above 1, however far apart the scores are",
    Stage.MIXTURE: "an average is as large as the values at most, but for rounding",
    Stage.ATTENTION_RESIDUAL: "a stream that a norm took is lost beside such a change",
    Stage.FFN_RESIDUAL: "a stream that a norm took is lost beside such a change",
    Stage.COMMIT: "it computes nothing",
    Stage.LOSS: "it is of no row",
    Stage.GRADIENT: "it is of no row",
}
"""Stages that are never the first to overflow, and why."""


class Aim(NamedTuple):
    """One place that is to fail first, and how it is made to.

    Attributes:
        place: what fails
        turn: gives the exponents of all factors for the one that grows
        grows: whose values grow with it
        power: of these values that is formed: 2 where a norm sums up squares
        sooner: what fails in its stead from half-way to the edge, if anything does
        beside: what may fail in its stead at the edge
        vanishes: whether it fails for a mean square of 0
    """

    place: Place
    turn: Turn
    grows: Place
    power: int = 1
    sooner: Place | None = None
    beside: Place | None = None
    vanishes: bool = False

    def __str__(self) -> str:
        stage, layer = self.place
        block = "" if layer is None else f" of block {layer}"
        how = " that vanishes" if self.vanishes else ""
        by = "" if self.grows == self.place else f" of the {self.grows[0]}"
        return f"{stage}{block}{by}{how}"


def aims(n_layers: int, *, has_epsilon: bool) -> Iterator[Aim]:
    """Every place that can fail first, in every way.

    Args:
        n_layers: blocks, at least one
        has_epsilon: whether norms have one, so that no mean square is 0
    """
    shrinks = partial(_shrinking, _TABLE)
    first, embedding = (Stage.ATTENTION_NORM, 0), (Stage.EMBEDDING, None)
    if not has_epsilon:
        yield Aim(first, shrinks, embedding, power=2, vanishes=True)
    yield Aim(first, partial(_growing, _TABLE), embedding, power=2)
    for layer in range(n_layers):
        is_last = layer == n_layers - 1
        norm = Stage.FINAL_NORM if is_last else Stage.ATTENTION_NORM
        yield from _of_attention(layer)
        yield from _of_ffn(layer, (norm, None if is_last else layer + 1))
    yield from _of_the_end(n_layers)


def _of_attention(layer: int) -> Iterator[Aim]:
    def aim(stage: Stage, turn: Turn, beside: Stage | None = None) -> Aim:
        place, also = (stage, layer), None if beside is None else (beside, layer)
        return Aim(place, partial(_in_block, layer, turn), place, beside=also)

    yield aim(
        Stage.ATTENTION_NORM, lambda e: {_GAIN: e, _QUERY: -e, _KEY: -e, _VALUE: -e}
    )
    yield aim(
        Stage.QUERY,
        lambda e: {**_raised(_GAIN, _VALUE), _QUERY: e - SPREAD, _KEY: -e - SPREAD},
        Stage.QUERY_ROTATION,
    )
    yield aim(
        Stage.KEY,
        lambda e: {**_raised(_GAIN, _VALUE), _QUERY: -e - SPREAD, _KEY: e - SPREAD},
        Stage.KEY_ROTATION,
    )
    yield aim(
        Stage.VALUE,
        lambda e: {**_raised(_GAIN, _QUERY, _KEY), _VALUE: e - SPREAD, _OUTPUT: -e},
        Stage.MIXTURE,
    )
    yield aim(Stage.SCORES, partial(_halved, _QUERY, _KEY))
    norm = Stage.FFN_NORM, layer
    output = aim(Stage.OUTPUT, partial(_halved, _VALUE, _OUTPUT))
    yield output._replace(sooner=norm)
    grows = Stage.ATTENTION_RESIDUAL, layer
    growing = partial(_in_block, layer, partial(_growing, _OUTPUT))
    yield Aim(norm, growing, grows, power=2)


def _of_ffn(layer: int, norm: Place) -> Iterator[Aim]:
    def aim(stage: Stage, turn: Turn) -> Aim:
        return Aim((stage, layer), partial(_in_block, layer, turn), (stage, layer))

    yield aim(Stage.FFN_NORM, lambda e: {_FFN_GAIN: e, _GATE: -e, _UP: -e})
    yield aim(
        Stage.GATE,
        lambda e: {_FFN_GAIN: SPREAD, _GATE: e - SPREAD, _UP: -e - SPREAD},
    )
    yield aim(
        Stage.GATE, lambda e: {_FFN_GAIN: SPREAD, _GATE: e - SPREAD, _UP: _NOTHING}
    )
    up = aim(
        Stage.UP,
        lambda e: {**_raised(_FFN_GAIN, _GATE), _UP: e - SPREAD, _DOWN: -e},
    )
    yield up._replace(beside=(Stage.PRODUCT, layer))
    yield aim(Stage.PRODUCT, lambda e: {**_halved(_GATE, _UP, e), _DOWN: -e})
    yield aim(Stage.DOWN, partial(_halved, _UP, _DOWN))._replace(sooner=norm)
    growing = partial(_in_block, layer, partial(_growing, _DOWN))
    yield Aim(norm, growing, (Stage.FFN_RESIDUAL, layer), power=2)


def _of_the_end(n_layers: int) -> Iterator[Aim]:
    streams = [
        _TABLE,
        *(f"blocks.{i}.{name}" for i in range(n_layers) for name in (_OUTPUT, _DOWN)),
    ]

    def small(e: int) -> Exponents:
        return {_LAST_GAIN: e, **dict.fromkeys(streams, -4)}  # and logits even smaller

    def large(e: int) -> Exponents:
        return {_LAST_GAIN: e - 2 * SPREAD, **dict.fromkeys(streams, 2 * SPREAD)}

    norm, logits = (Stage.FINAL_NORM, None), (Stage.LOGITS, None)
    yield Aim(norm, small, norm)
    yield Aim(logits, large, logits)


def _growing(name: str, exponent: int) -> Exponents:
    return {name: exponent}


def _shrinking(name: str, exponent: int) -> Exponents:
    return {name: -exponent}


def _halved(one: str, other: str, exponent: int) -> Exponents:
    half = exponent // 2
    return {one: half, other: exponent - half}


def _raised(gain: str, *others: str) -> Exponents:
    """A larger gain, made up for in matrices that are not to grow."""
    return {gain: SPREAD, **dict.fromkeys(others, -SPREAD)}


def _in_block(layer: int, turn: Turn, exponent: int) -> Exponents:
    return {f"blocks.{layer}.{name}": each for name, each in turn(exponent).items()}
