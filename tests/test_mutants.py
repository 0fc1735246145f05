"""Every mutant is rejected by its killer, for its witness, which the engine passes."""

import pytest

from properties.judge import Judge, PropertyFailed
from properties.mutants import MutantRejected, exchanged, mutants

ALL = {each.name: each for each in mutants()}
JUDGED = [name for name, each in ALL.items() if each.killer and not each.scene]
SWEPT = [name for name, each in ALL.items() if each.scene]
EQUIVALENT = [name for name, each in ALL.items() if each.equivalent]


@pytest.mark.parametrize("name", JUDGED)
def test_judge_rejects(name: str) -> None:
    mutant = ALL[name]
    Judge()(mutant.witness)

    with pytest.raises(PropertyFailed) as failure:
        Judge(mutant.make())(mutant.witness)

    assert mutant.killer in {law.id for law in failure.value.broken}


@pytest.mark.parametrize("name", SWEPT)
def test_sweep_rejects(name: str) -> None:
    assert ALL[name].sweep().startswith("A3 ")


@pytest.mark.parametrize("name", EQUIVALENT)
def test_equivalent_passes(name: str) -> None:
    mutant = ALL[name]

    assert Judge(mutant.make())(mutant.witness) == Judge()(mutant.witness)


def test_line_that_is_not_there_once_is_refused() -> None:
    with pytest.raises(MutantRejected, match="has 0 lines"):
        exchanged("engine.row", "length = 7", "pass")
    with pytest.raises(MutantRejected, match="has 3 lines"):
        exchanged("engine.row", "yield normed", "pass")
