"""Every public call of the engine, interrupted between any two of its bytecodes."""

from properties.interrupts.scenes import SCENES, sweep_all
from properties.interrupts.sweep import HalfDone, Raises, Swept, Tally, sweep
from properties.interrupts.tables import swept_table, verdict

__all__ = [
    "SCENES",
    "HalfDone",
    "Raises",
    "Swept",
    "Tally",
    "sweep",
    "sweep_all",
    "swept_table",
    "verdict",
]
