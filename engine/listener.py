"""Hearing each token of a generation as soon as it is chosen."""

import time
from collections.abc import Callable

from engine.arrays import Array
from engine.request import Mode
from engine.sampling import choose
from engine.splitmix import SplitMix64
from engine.stages import Stage


class Listener:
    """A probe of ``generate`` that tells of tokens and rows while they are made.

    ``generate`` returns at the end. But a probe sees the logits of each commit, and the
    next token follows from them alone: the listener chooses it too, in the same way and
    with a generator in the same state.

    Args:
        mode: that of the request
        seed: the state of the generator that ``generate`` gets
        on_row: told the position of each row that was computed
        on_token: told each token, in order

    Attributes:
        times: when each token was chosen, in seconds
    """

    def __init__(
        self,
        mode: Mode,
        seed: int,
        on_row: Callable[[int], object],
        on_token: Callable[[int], object],
    ) -> None:
        self.times: list[float] = []
        self._mode = mode
        self._stream = SplitMix64(seed)
        self._on_row = on_row
        self._on_token = on_token

    def __call__(
        self, stage: Stage, _layer: int | None, position: int, value: Array
    ) -> None:
        """Be the probe."""
        if stage is Stage.LOGITS:
            self._on_row(position)
        if stage is Stage.COMMIT:
            self.times.append(time.perf_counter())
            logits = value[...]  # whose rank the type forgets
            self._on_token(choose(logits, self._mode, self._stream).token_id)
