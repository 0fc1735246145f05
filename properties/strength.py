"""The strength of a bound, over many models: what it sees, and what others see.

Each model is prefilled. Its cache is corrupted vector by vector, or only looked at, and
what the rules say (``properties/rejections.py``) is added up.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from engine.arrays import DType
from properties.prefilled import Prefilled
from properties.rejections import Tally, corrupted, sound
from properties.strength_models import MakeModel

SOUND: Final = "none"
"""In place of a corruption, where nothing is wrong."""


class Kind(NamedTuple):
    """Of which model something is told, in which dtype, and corrupted how."""

    model: str
    dtype: DType
    corruption: str


Tallies: TypeAlias = Mapping[Kind, Tally]


class Step(NamedTuple):
    """One model to be prefilled; its cache is corrupted if it is told so."""

    model: str
    dtype: DType
    seed: int
    is_corrupted: bool


def steps(
    models: Iterable[str], dtypes: Sequence[DType], n_corrupted: int, n_sound: int
) -> list[Step]:
    """Seeds whose caches are corrupted, then fresh ones, of every model and dtype."""
    return [
        Step(model, dtype, seed, is_corrupted=seed < n_corrupted)
        for dtype in dtypes
        for model in models
        for seed in range(n_corrupted + n_sound)
    ]


def measured(
    models: Mapping[str, MakeModel], going: Iterable[Step], n_vectors: int | None = None
) -> Tallies:
    """Take all steps.

    Args:
        models: how to make those that the steps name
        going: the steps
        n_vectors: to be corrupted, as ``corrupted`` has it

    Raises:
        Inconsistent: decodes that go on from sound rows are not the engine's.
    """
    tallies = dict[Kind, Tally]()
    for step in going:
        case = Prefilled.of(models[step.model](step.dtype, step.seed))
        found = {SOUND: sound(case)}
        if step.is_corrupted:
            found |= corrupted(case, step.seed, n_vectors)
        for name, tally in found.items():
            kind = Kind(step.model, step.dtype, name)
            tallies[kind] = tallies.get(kind, Tally()) + tally
    return tallies
