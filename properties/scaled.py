"""Scripts whose weights make one stage overflow, from far below its edge to far beyond.

How large the stage is far below the edge is measured on a replay. From there it grows
by powers of two, so it is known how far each script is from the edge.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import product
from typing import Final, NamedTuple, get_args

import numpy as np

from engine import DecoderConfig, Stage
from engine.arrays import DType
from engine.stages import Place
from properties.aims import Aim, aims
from properties.calls import Decode, Prefill
from properties.drawn import initial_weights
from properties.script import Script, Weights
from reference import replay
from reference.replay import Reals

N_LAYERS: Final = 2
N_PROMPT: Final = 2
EDGE: Final = 13
"""Powers of two on either side of the edge where both verdicts may be right.

The contract has ten; three more are for a mean, which is an eighth of its sum.
"""
_MORE: Final = 2  # powers beyond that on either side, one by one
_SHARES: Final = (
    -0.2,
    -0.15,
    -0.1,
    -0.05,
    0.0,
)  # a rotation may overflow where a projection does not
_ULPS: Final = -4, 4  # or rounding decides

_GROUPED: Final = DecoderConfig(
    vocab_size=5,
    d_model=8,
    n_heads=4,
    n_kv_heads=2,
    d_ff=3,
    n_layers=N_LAYERS,
    capacity=6,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)
_NARROW: Final = replace(
    _GROUPED, d_model=2, n_heads=1, n_kv_heads=1, d_ff=1, rms_epsilon=0.0
)
_SIGNED: Final = Stage.SCORES, Stage.GATE, Stage.PRODUCT


class Zone(StrEnum):
    """Where a script is, as its edge sees it."""

    BELOW = "below"
    EDGE = "at the edge"
    BEYOND = "beyond"


class Scaled(NamedTuple):
    """One script.

    Attributes:
        places: the stages and blocks at which it may fail; None where it need not
    """

    aim: Aim
    zone: Zone
    places: frozenset[Place | None]
    history: tuple[int, ...]
    script: Script


class Scene(NamedTuple):
    """A decoder before it is scaled, the tokens that it reads, and what is aimed at."""

    config: DecoderConfig
    seed: int
    history: tuple[int, ...]
    places: tuple[Place, ...] = ()

    def aims(self) -> Iterator[Aim]:
        """Those of its places, or all."""
        has_epsilon = self.config.rms_epsilon > 0
        for aim in aims(self.config.n_layers, has_epsilon=has_epsilon):
            if not self.places or aim.place in self.places:
                yield aim


_SCENES: Final = (
    Scene(_GROUPED, 1953, (0, 1, 2, 3)),
    Scene(replace(_GROUPED, rms_epsilon=0.0), 1953, (0, 1, 2, 3)),
    # Its only gate is negative with one of the signs, and SiLU would make it 0.
    Scene(_NARROW, 50, (3, 0, 2, 1), ((Stage.GATE, 0), (Stage.GATE, 1))),
)


def scaled_scripts() -> Iterator[Scaled]:
    """Every script, in both dtypes."""
    for dtype, scene in product(get_args(DType), _SCENES):
        made = scene._replace(config=replace(scene.config, dtype=dtype))
        for aim in made.aims():
            for sign in (1, -1) if aim.place[0] in _SIGNED else (1,):
                yield from _Aimed(made, aim, sign).scripts()


class _Aimed:
    """One aim in one scene, with one sign of the first factor."""

    def __init__(self, scene: Scene, aim: Aim, sign: int) -> None:
        self._scene, self._aim, self._sign = scene, aim, sign
        kind = np.finfo(scene.config.float_type)
        limit = kind.smallest_subnormal if aim.vanishes else kind.max
        self._limit, self._epsilon = float(limit), float(kind.eps)
        self._most = kind.maxexp - 1
        self._base = int(abs(math.log2(self._limit)) / 4)
        self._peaks = self._measured()
        self._edge = self._base - max(self._heights(self._base)) / aim.power

    def scripts(self) -> Iterator[Scaled]:
        """From ordinary weights to the largest that there are, and at the very edge."""
        edge, near = self._edge, (EDGE + _MORE) / self._aim.power
        steps = range(math.floor(edge - near), math.ceil(edge + near) + 1)
        for exponent in (0, int(edge / 4), *steps, int(edge * 4 / 3)):
            if max(self._aim.turn(exponent).values()) <= self._most:
                yield self._scaled(exponent)
        if max(self._aim.turn(math.ceil(edge)).values()) <= self._most:
            last = math.floor(edge)
            for away in (*_SHARES, *(ulps * self._epsilon for ulps in _ULPS)):
                yield self._scaled(last, self._lead(last) * (1 + away))

    def _heights(self, exponent: int) -> Sequence[float]:
        """Powers of two above the edge, by row."""
        aim, limit = self._aim, math.log2(self._limit)
        grown = aim.power * (exponent - self._base)
        away = [math.log2(peak) - limit if peak else -math.inf for peak in self._peaks]
        return [grown + (-each if aim.vanishes else each) for each in away]

    def _lead(self, exponent: int) -> float:
        """What puts the largest row on the edge."""
        aim, grown = self._aim, self._aim.power * (exponent - self._base)
        if aim.vanishes:
            largest = math.ldexp(min(self._peaks), -grown)
        else:
            largest = math.ldexp(max(self._peaks), grown)
        lead: float = (self._limit / largest) ** (1 / aim.power)
        return lead

    def _scaled(self, exponent: int, lead: float = 1.0) -> Scaled:
        aim, heights = self._aim, self._heights(exponent)
        is_late = exponent > self._edge * 3 / 4
        places = {aim.sooner if is_late else None}
        zone = Zone.EDGE
        if max(heights) < -EDGE:
            zone = Zone.BELOW
        elif max(heights[:N_PROMPT]) > EDGE:
            zone, places = Zone.BEYOND, {aim.place}
        else:
            places |= {aim.place} | ({aim.beside} if aim.beside else set())
        script = self._script(exponent, lead)
        return Scaled(aim, zone, frozenset(places), self._scene.history, script)

    def _script(self, exponent: int, lead: float = 1.0) -> Script:
        scene, turned = self._scene, self._aim.turn(exponent)
        prompt, others = scene.history[:N_PROMPT], scene.history[N_PROMPT:]
        (first, power), *more = (
            (name, math.ldexp(1.0, each)) for name, each in turned.items()
        )
        factors = ((first, self._sign * lead * power), *more)
        return Script(
            config=scene.config,
            weights=Weights(seed=scene.seed, gain_spread=0.5, factors=factors),
            calls=(
                Prefill(prompt=prompt),
                *(Decode(token_id=token_id) for token_id in others),
            ),
        )

    def _measured(self) -> Sequence[float]:
        """How large what may overflow is, by row, far below its edge."""
        scene, recorded = self._scene, dict[Place, Reals]()
        weights = initial_weights(scene.config, self._script(self._base).weights)
        replay(scene.config, weights, scene.history, record=recorded.__setitem__)
        values = np.abs(recorded[self._aim.grows].astype(np.float64))
        if values.ndim == 3:  # noqa: PLR2004 # heads come first
            values = values.max(axis=0)
        is_square = self._aim.power > 1
        peaks = (values * values).sum(axis=1) if is_square else values.max(axis=1)
        return [float(peak) for peak in peaks]
