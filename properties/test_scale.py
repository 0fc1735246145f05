"""The hunt for a number that is none and is taken for one."""

from collections.abc import Callable
from itertools import islice
from secrets import randbelow

from properties.failures import kept
from properties.judge import Judge
from properties.plugin import length_of_hunt
from properties.scale import require_complete, sweep
from properties.scaled import scaled_scripts


def test_scales(new_judge: Callable[[], Judge]) -> None:
    stride = length_of_hunt().stride
    chosen = islice(scaled_scripts(), randbelow(stride), None, stride)
    with kept():
        swept = sweep(new_judge(), chosen)

    if stride == 1:
        require_complete(swept)
