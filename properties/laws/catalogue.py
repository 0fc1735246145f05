"""Every law by its ID, in the order in which a call is judged by them."""

from typing import Final

from properties.laws import (
    atomicity,
    binding,
    counts,
    generation,
    hatches,
    numerics,
    parity,
    refusals,
    state,
)
from properties.laws.law import Law

_ALL: Final = (
    refusals.exact,
    numerics.finite,
    state.phase,
    binding.identity,
    binding.configuration,
    binding.staleness,
    binding.borrow,
    counts.overflow,
    refusals.unchanged,
    atomicity.fault,
    atomicity.compound,
    generation.no_draw,
    state.length,
    parity.logits,
    parity.rows,
    parity.truth,
    numerics.scale,
    parity.causality,
    generation.generation,
    binding.step,
    counts.exact,
    counts.measured,
    counts.growth,
    state.reset,
    state.rebind,
    state.isolation,
    hatches.copies,
    hatches.restore,
    refusals.usable,
    atomicity.retry,
    state.determinism,
    parity.split,
    parity.spare_rows,
    hatches.aliasing,
)

LAWS: Final[dict[str, Law]] = {law.id: law for law in _ALL}
