"""Where a computation overflows, and where both verdicts are right.

A replay in a wider dtype does not overflow where the engine must, so it tells how large
the values of each stage are. Near the largest float it depends on the order of the
additions, and on what is scaled first, whether a stage overflows: within a factor of
1,024 the contract has both verdicts right. So it is with the smallest energy of a row
that is normalized without an epsilon.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from engine import DecoderConfig, Stage, StageFailed
from engine.stages import Place
from properties.tolerance import READS
from reference import replay
from reference.replay import Real, Reals, Weights

Bools: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

WITHIN: Final = 1024
"""The contract's factor."""

_INPUTS: Final[Mapping[Stage, Stage]] = {
    Stage.QUERY: Stage.ATTENTION_NORM,
    Stage.KEY: Stage.ATTENTION_NORM,
    Stage.VALUE: Stage.ATTENTION_NORM,
    Stage.GATE: Stage.FFN_NORM,
    Stage.UP: Stage.FFN_NORM,
    Stage.DOWN: Stage.PRODUCT,
    Stage.LOGITS: Stage.FINAL_NORM,
}
"""What each matrix is multiplied with; the output projection's is split into heads."""

_ADDED: Final[Mapping[Stage, Stage]] = {
    Stage.ATTENTION_RESIDUAL: Stage.OUTPUT,
    Stage.FFN_RESIDUAL: Stage.DOWN,
}
_NORMS: Final = (Stage.ATTENTION_NORM, Stage.FFN_NORM, Stage.FINAL_NORM)


class Fates(NamedTuple):
    """Whether one stage may fail, and whether it must, by row."""

    place: Place
    may: Bools
    must: Bools


class Edges:
    """What becomes of every stage of every row of one decoder.

    Args:
        config: sizes, constants, and the dtype that overflows
        weights: values by name
        wider: a dtype of a wider range
    """

    def __init__(
        self, config: DecoderConfig, weights: Weights, wider: type[Real]
    ) -> None:
        self._config = config
        self._weights: Weights = {
            name: np.asarray(each, wider) for name, each in weights.items()
        }
        self._wider = wider
        kind = np.finfo(config.float_type)
        self._largest, self._least = wider(kind.max), wider(kind.smallest_subnormal)

    def can_pass(self, history: tuple[int, ...]) -> bool:
        """Whether no stage of any row must fail."""
        return not any(fates.must[-1] for fates in self._row_by_row(history, 0))

    def can_fail(self, history: tuple[int, ...], start: int, place: Place) -> bool:
        """Whether an engine that goes on row by row from a position may fail there."""
        return any(
            fates.place == place and fates.may[-1]
            for fates in self._row_by_row(history, start)
        )

    def can_fail_whole(self, tokens: tuple[int, ...], place: Place) -> bool:
        """Whether one that goes stage by stage through all rows may fail there."""
        for fates in self._stage_by_stage(tokens):
            if fates.place == place:
                return bool(fates.may.any())
            if fates.must.any():
                return False
        return False

    def _row_by_row(self, history: tuple[int, ...], start: int) -> Iterator[Fates]:
        """Of the newest row of each prefix, up to the first stage that must fail."""
        for end in range(start + 1, len(history) + 1):
            for fates in self._stage_by_stage(history[:end]):
                yield fates
                if fates.must[-1]:
                    return

    def _stage_by_stage(self, tokens: tuple[int, ...]) -> Iterator[Fates]:
        """Of all rows, as far as even the wider dtype goes."""
        config, weights, values = self._config, self._weights, dict[Place, Reals]()
        failing = None
        try:
            replay(config, weights, tokens, self._wider, values.__setitem__)
        except StageFailed as failure:
            failing = failure.stage, failure.layer
        sizes = _Sizes(config, weights, values)
        for place in values:
            size = sizes.of(*place)
            may = size.most > self._largest / WITHIN
            may |= size.energy < self._least * WITHIN
            must = size.result > self._largest * WITHIN
            must |= size.energy < self._least / WITHIN
            yield Fates(place, may | must, must)
        if failing is not None:
            everywhere = np.ones(len(tokens), bool)
            yield Fates(failing, everywhere, everywhere)


class _Size(NamedTuple):
    """How large one stage is, by row.

    Attributes:
        result: the largest magnitude that it cannot but form
        most: the largest that it may form on the way there
        energy: of a row that is normalized without epsilon; infinite elsewhere
    """

    result: Reals
    most: Reals
    energy: Reals


class _Sizes:
    """Of every stage of one recorded pass."""

    def __init__(
        self, config: DecoderConfig, weights: Weights, values: Mapping[Place, Reals]
    ) -> None:
        self._config = config
        self._weights = {name: np.abs(each) for name, each in weights.items()}
        self._values = {place: np.abs(each) for place, each in values.items()}

    def of(self, stage: Stage, layer: int | None) -> _Size:
        """One stage's."""
        made = _by_row(self._values[stage, layer])
        if stage not in _NORMS:
            formed = _by_row(self._formed(stage, layer))
            return _Size(made, np.maximum(made, formed), made + np.inf)
        x = self._stream(stage, layer)
        total = (x * x).sum(axis=1)
        energy = total / x.shape[1]
        result, most = np.maximum(made, energy), np.maximum(made, total)
        with np.errstate(over="ignore"):
            is_bare = self._config.float_type(self._config.rms_epsilon) == 0
        return _Size(result, most, energy if is_bare else made + np.inf)

    def _formed(self, stage: Stage, layer: int | None) -> Reals:
        """The values as they would be if no two terms of a sum had other signs."""
        values = self._values
        if stage in _INPUTS:
            return values[_INPUTS[stage], layer] @ self._matrix(stage, layer)
        if stage in _ADDED:
            return self._stream(stage, layer) + values[_ADDED[stage], layer]
        match stage:
            case Stage.SCORES:
                keys = self._repeated(values[Stage.KEY_ROTATION, layer])
                products = values[Stage.QUERY_ROTATION, layer] @ keys.swapaxes(1, 2)
                return np.tril(products)
            case Stage.MIXTURE:
                rows = np.split(values[Stage.VALUE, layer], self._config.n_kv_heads, 1)
                return values[Stage.WEIGHTS, layer] @ self._repeated(np.stack(rows))
            case Stage.OUTPUT:
                merged = np.concatenate(values[Stage.MIXTURE, layer], axis=1)
                return merged @ self._matrix(stage, layer)
            case _:
                return 2 * values[stage, layer]  # as a rotation adds two at most

    def _stream(self, stage: Stage, layer: int | None) -> Reals:
        """What the stage finds in the residual stream."""
        if stage in {Stage.FFN_NORM, Stage.FFN_RESIDUAL}:
            return self._values[Stage.ATTENTION_RESIDUAL, layer]
        above = self._config.n_layers if layer is None else layer
        if above == 0:
            return self._values[Stage.EMBEDDING, None]
        return self._values[Stage.FFN_RESIDUAL, above - 1]

    def _matrix(self, stage: Stage, layer: int | None) -> Reals:
        name = READS[stage]
        if stage is Stage.LOGITS:
            return self._weights[name].T
        return self._weights[f"blocks.{layer}.{name}"]

    def _repeated(self, heads: Reals) -> Reals:
        return np.repeat(heads, self._config.group_size, axis=0)


def _by_row(values: Reals) -> Reals:
    """The largest of each row, of (n_tokens, features) or (heads, n_tokens, …)."""
    if values.ndim == 3:  # noqa: PLR2004 # heads come first
        values = values.max(axis=0)
    largest: Reals = values.max(axis=-1)
    return largest
