"""``Recorded``: a run whose every stage is looked at, as far as the engine shows it."""

from collections.abc import Mapping
from typing import Final, TypeAlias

import numpy as np

from engine import Stage
from engine.arrays import Array
from engine.stages import Place
from properties.due import OracleOf
from properties.script import Script
from properties.subject import Offer, Subject
from properties.trial import Trial

Values: TypeAlias = Mapping[tuple[Place, int], Array]
"""What a stage made, by its place and the row's position; of two, the later."""


class Recorded(Trial):
    """A script under way, with a probe that keeps what it is shown.

    It looks before a planned fault can strike, and hands the value on to it.
    """

    def __init__(
        self,
        script: Script,
        weights: Mapping[str, Array],
        subject: Subject,
        oracle_of: OracleOf,
    ) -> None:
        super().__init__(script, weights, subject, oracle_of)
        self.oracle_of: Final = oracle_of
        self._has_faults = bool(script.faults)
        self._values = dict[tuple[Place, int], Array]()
        if Offer.PROBE in subject.offers:
            subject.watch(self._keep)

    def taken(self) -> Values:
        """What was shown since it was last asked for; nothing without a probe."""
        values, self._values = self._values, {}
        return values

    def _keep(
        self, stage: Stage, layer: int | None, position: int, value: Array
    ) -> None:
        self._values[(stage, layer), position] = np.array(value)
        if self._has_faults:
            self._injector(stage, layer, position, value)
