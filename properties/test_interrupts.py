"""A3: a call that is interrupted at any bytecode happened, or did not."""

from types import CodeType
from typing import Final

import pytest

from properties.interrupts import SCENES, Raises, sweep
from properties.interrupts.surface import LEFT_OUT, entered, public_calls
from properties.plugin import length_of_hunt

COLLECTOR: Final = "collector"


# Between opening and its ``with`` a file is left to the collector, which closes it.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("raises", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("name", SCENES)
def test_interrupted_call_happened_or_did_not(name: str, raises: Raises) -> None:
    stride = length_of_hunt().stride
    if stride > 1 and raises is MemoryError:  # takes the same ways out, so fewer do
        stride *= 2

    swept = sweep(name, SCENES[name], raises, stride)

    # The collector works in C, where nothing comes in between.
    assert (swept.engine.n_boundaries > 0) == (name != COLLECTOR)


def test_every_public_call_is_interrupted() -> None:
    reached: set[CodeType] = set()
    for arrange in SCENES.values():
        scene = arrange()
        reached |= entered(scene.call)
        scene.end()
    missing = {name for code, name in public_calls().items() if code not in reached}

    assert missing == LEFT_OUT.keys()
