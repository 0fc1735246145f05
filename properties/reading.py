"""What a call reads of the replay, row by row, and the fault that may end it."""

from dataclasses import dataclass

from engine import DecoderConfig
from properties.oracle import Oracle
from properties.points import Point, points_before, points_between
from properties.replayed import Replayed
from properties.script import Fault


@dataclass(eq=False)
class FaultComes(Exception):
    """A planned fault ends the call here, when so many replays were read whole."""

    point: Point
    n_read: int


class Reading:
    """The replays of one call's growing history.

    Args:
        oracle: of the decoder that reads
        config: its configuration
        length: what is held before the call
        fault: what is planned for the call

    Attributes:
        history: the one that was asked for last
    """

    def __init__(
        self, oracle: Oracle, config: DecoderConfig, length: int, fault: Fault | None
    ) -> None:
        self._oracle = oracle
        self._config = config
        self._length = length
        self._fault = fault
        self._n_passed = 0
        self._n_read = 0
        self.history: tuple[int, ...] = ()

    def read(self, history: tuple[int, ...], ahead: tuple[int, ...]) -> Replayed:
        """The replay of a longer history, as ``Oracle.replay`` gives it.

        Raises:
            FaultComes: the fault comes on the way, and before any failure.
            StageFailed: a row cannot be computed.
        """
        self.history = history
        if self._fault is not None:
            self._meet(self._fault, history, ahead)
        replayed = self._oracle.replay(history, ahead)
        self._length = len(history)
        self._n_read += 1
        return replayed

    def _meet(
        self, fault: Fault, history: tuple[int, ...], ahead: tuple[int, ...]
    ) -> None:
        points = points_between(self._config.n_layers, self._length, len(history))
        failing = self._oracle.failing(history, ahead)
        n_points = len(points)
        if failing is not None:
            n_points = points_before(self._config, self._length, *failing)
        left = fault.point - self._n_passed
        if left < n_points:
            raise FaultComes(points[left], self._n_read)
        self._n_passed += n_points
