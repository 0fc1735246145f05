"""The hunt for a fault that leaves something half-way."""

from collections.abc import Callable
from secrets import randbelow

from properties.failures import kept
from properties.fault_grid import require_complete
from properties.faults import every, one_from, sweep
from properties.judge import Judge
from properties.plugin import length_of_hunt
from properties.script import FAULTS


def test_faults(new_judge: Callable[[], Judge]) -> None:
    is_whole = length_of_hunt().has_all_faults
    chosen = every if is_whole else one_from(randbelow(len(FAULTS)))
    with kept():
        swept = sweep(new_judge(), chosen)

    require_complete(swept, len(FAULTS) if is_whole else 1)
