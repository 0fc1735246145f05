"""Every scene by its name, and the sweep of them all."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from properties.interrupts.binding_scenes import BINDING_SCENES
from properties.interrupts.cache_scenes import CACHE_SCENES
from properties.interrupts.file_scenes import FILE_SCENES
from properties.interrupts.record_scenes import RECORD_SCENES
from properties.interrupts.scene import Arrange
from properties.interrupts.session_scenes import SESSION_SCENES
from properties.interrupts.sweep import Raises, Swept, sweep
from properties.interrupts.transaction_scenes import TRANSACTION_SCENES

SCENES: Final[Mapping[str, Arrange]] = {
    **SESSION_SCENES,
    **CACHE_SCENES,
    **BINDING_SCENES,
    **TRANSACTION_SCENES,
    **FILE_SCENES,
    **RECORD_SCENES,
}


def sweep_all(
    stride: int = 1,
    names: Iterable[str] = SCENES,
    kinds: Sequence[Raises] = (KeyboardInterrupt, MemoryError),
) -> list[Swept]:
    """Sweep every call, or those named, with each kind of interrupt.

    Args:
        stride: from one boundary that is tried to the next; 1 is all
        names: of scenes
        kinds: what is raised

    Raises:
        HalfDone: the first call that neither happened nor did not.
    """
    return [
        sweep(name, SCENES[name], raises, stride) for name in names for raises in kinds
    ]
