"""How far a right engine may be from the replay: one bound for every number of a pass.

A replay records every stage's values, and this error analysis runs along. For every
value it carries how far a computation in the same dtype may be from the exact result,
to first order, and beyond it where a stage is not linear enough.

**Rounding.** Each operation is off by a relative error of at most ``u``, the unit
roundoff, and these errors are taken as independent, with mean zero. A sum is then off
by more than ``λ u √(Σ s²)``, over its partial sums ``s``, with a probability of at most
``2 exp(-λ²/2)`` (Hoeffding): with ``λ = 8`` that is 3e-14. Terms ``t`` in no special
order have partial sums as large as ``√(Σ t²)`` and the result itself; ``n`` times their
squares is carried, which is more than comes of any but the worst order. What underflows
is off by a subnormal more.

**Propagation.** What comes in is off by amounts that are taken as independent too, so
they add up in squares: through a matrix by the squares of its weights, through a norm,
a rotation, a product or SiLU by their derivatives. (Added up in absolute values, they
would grow by √width a matrix, and say nothing after a few blocks.) Attention weights
are 1 together, so an error of a score moves the mixture by the distance of its value
from it. A score that is off by ``e`` multiplies its weight by up to ``exp(e)``; once
that is no small change, every weight that the errors allow is allowed, so a softmax
near a tie of huge scores may choose either. A normalized row is at most ``√width``
times its gain, however large the error that comes in.

**Where the model ends.** Errors are not independent where matrices of several blocks
have one direction in common, or rank one and a great width: there a right engine can be
further off than this. Rank one was safe up to a width of 96, and the same feed-forward
direction in all blocks up to four of them. A sum of thousands of equal terms is rounded
one way each time, too: up to 4,096 of them stayed inside.

**Alignment.** What was trained shares directions: a row that an optimizer has moved,
the matrices that moved it, and the errors of both. Such errors add up as they are, and
not in squares. In a million judged calls on drawn, stepped and trained models one
replay was off by 1.1 of all this; so the bound is twice as much.

Angles are computed in binary64 whatever the dtype is, and so are off by the position
times a unit of that, and by what rounding makes of the exponent of a frequency; their
cosines and sines are rounded to the dtype.

Two computations in one dtype are at most twice the bound apart. It follows dtype,
depth, width, length and scale; README has the measured distance to it, and the law P7
holds both computations against one of higher precision.

Source:
    Higham and Mary 2019, theorem 2.4, for sums; Higham and Mary 2020 for terms in no
    special order; Higham 2002, section 3.3, for running error analysis.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine import DecoderConfig, Stage
from engine.stages import Place
from properties.rounding import Floats, Off, Rounding, by_head
from reference.replay import Reals, Weights

APART: Final = 2.0
"""Two computations are each off by a bound."""

ALIGNED: Final = 2.0
"""What errors that share a direction may be beyond independent ones; measured."""


READS: Final[Mapping[Stage, str]] = {
    Stage.ATTENTION_NORM: "attention_norm.gain",
    Stage.QUERY: "attention.query.weight",
    Stage.KEY: "attention.key.weight",
    Stage.VALUE: "attention.value.weight",
    Stage.OUTPUT: "attention.output.weight",
    Stage.FFN_NORM: "ffn_norm.gain",
    Stage.GATE: "ffn.gate.weight",
    Stage.UP: "ffn.up.weight",
    Stage.DOWN: "ffn.down.weight",
    Stage.FINAL_NORM: "final_norm.gain",
    Stage.LOGITS: "token_embedding.weight",
}


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """How far one computation may be off, by stage and block; as a replay records."""

    at: Mapping[Place, Floats]

    @property
    def logits(self) -> Floats:
        """(n_tokens, vocab_size)."""
        return self.at[Stage.LOGITS, None]

    def keys(self, layer: int) -> Floats:
        """(n_kv_heads, n_tokens, head_dim)."""
        return self.at[Stage.KEY_ROTATION, layer]

    def values(self, layer: int) -> Floats:
        """(n_kv_heads, n_tokens, head_dim)."""
        return by_head(self.at[Stage.VALUE, layer], len(self.keys(layer)))


@np.errstate(all="ignore")  # what is beyond all floats is an infinite bound
def bounds(
    config: DecoderConfig, weights: Weights, recorded: Mapping[Place, Reals]
) -> Bounds:
    """How far a computation in the configuration's dtype may be off.

    Args:
        config: sizes, constants and dtype
        weights: values by name
        recorded: every stage's values, as ``replay`` records them in any dtype
    """
    independent = _Analysis(config, weights, recorded).at
    return Bounds({place: ALIGNED * each for place, each in independent.items()})


class _Analysis:
    """One walk through all stages, in the order in which a pass meets them."""

    def __init__(
        self, config: DecoderConfig, weights: Weights, recorded: Mapping[Place, Reals]
    ) -> None:
        self._config = config
        self._weights = {name: _floats(value) for name, value in weights.items()}
        self._values = {place: _floats(value) for place, value in recorded.items()}
        self._rule = Rounding.of(config.float_type)
        self.at = dict[Place, Floats]()
        self._walk()

    def _walk(self) -> None:
        embedded = self._values[Stage.EMBEDDING, None]
        x = self._kept(Stage.EMBEDDING, None, np.zeros_like(embedded))
        for layer in range(self._config.n_layers):
            x = self._residual(
                x, Stage.ATTENTION_RESIDUAL, layer, self._mixed(x, layer)
            )
            x = self._residual(x, Stage.FFN_RESIDUAL, layer, self._fed(x, layer))
        normed = self._norm(x, Stage.FINAL_NORM, None)
        self._product(normed, Stage.LOGITS, None)

    def _mixed(self, x: Off, layer: int) -> Off:
        """What attention adds."""
        rule, group_size = self._rule, self._config.group_size
        normed = self._norm(x, Stage.ATTENTION_NORM, layer)
        queries = self._product(normed, Stage.QUERY, layer)
        keys = self._product(normed, Stage.KEY, layer)
        values = self._product(normed, Stage.VALUE, layer)
        q = self._rotated(queries, Stage.QUERY_ROTATION, layer)
        k = self._rotated(keys, Stage.KEY_ROTATION, layer)
        v = values.by_head(self._config.n_kv_heads)
        k, v = k.repeated(group_size), v.repeated(group_size)
        made = self._values[Stage.SCORES, layer]
        scores = self._kept(Stage.SCORES, layer, rule.scores(q, k, made))
        made = self._values[Stage.WEIGHTS, layer]
        bound, drift = rule.softmax(scores, made)
        weights = self._kept(Stage.WEIGHTS, layer, bound)
        made = self._values[Stage.MIXTURE, layer]
        bound = rule.mixture(weights, drift, v, made)
        mixture = self._kept(Stage.MIXTURE, layer, bound)
        return self._product(mixture.merged(), Stage.OUTPUT, layer)

    def _fed(self, x: Off, layer: int) -> Off:
        """What the feed-forward network adds."""
        normed = self._norm(x, Stage.FFN_NORM, layer)
        gate = self._product(normed, Stage.GATE, layer)
        up = self._product(normed, Stage.UP, layer)
        made = self._values[Stage.PRODUCT, layer]
        product = self._kept(Stage.PRODUCT, layer, self._rule.gated(gate, up, made))
        return self._product(product, Stage.DOWN, layer)

    def _norm(self, x: Off, stage: Stage, layer: int | None) -> Off:
        gain = self._weight(stage, layer)
        epsilon = float(self._config.float_type(self._config.rms_epsilon))
        return self._kept(stage, layer, self._rule.norm(x, gain, epsilon))

    def _product(self, x: Off, stage: Stage, layer: int | None) -> Off:
        matrix, made = self._weight(stage, layer), self._values[stage, layer]
        if stage is Stage.LOGITS:
            matrix = matrix.T
        return self._kept(stage, layer, self._rule.product(x, matrix, made))

    def _rotated(self, x: Off, stage: Stage, layer: int) -> Off:
        width, made = self._config.head_dim, self._values[stage, layer]
        turns = self._config.rope_base ** (-np.arange(0, width, 2) / width)
        angles: Floats = np.outer(np.arange(made.shape[1]), turns)
        heads = x.by_head(len(made))
        return self._kept(
            stage, layer, self._rule.rotation(heads, angles, np.log(turns))
        )

    def _residual(self, x: Off, stage: Stage, layer: int, change: Off) -> Off:
        made = self._values[stage, layer]
        return self._kept(stage, layer, self._rule.residual(x, change, made))

    def _kept(self, stage: Stage, layer: int | None, bound: Floats) -> Off:
        self.at[stage, layer] = bound
        return Off(self._values[stage, layer], bound)

    def _weight(self, stage: Stage, layer: int | None) -> Floats:
        name = READS[stage]
        return self._weights[name if layer is None else f"blocks.{layer}.{name}"]


def _floats(array: Reals) -> Floats:
    return np.asarray(array, np.float64)
