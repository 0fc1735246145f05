"""The child that lives on under signals: ``python -m properties.under_signals N``.

It tells that it is ready, makes its calls until the one signal comes that it has asked
for, and looks at everything while no other is on its way. The signal is a ``SIGINT``
from another process with Python's own handler, as from a terminal: no frame of ours is
on the stack when it strikes.
"""

import json
import os
import signal
import sys
from collections import Counter
from itertools import accumulate, cycle, islice
from pathlib import Path
from secrets import randbits
from traceback import walk_tb
from types import TracebackType
from typing import Final

import engine
from engine import ParameterBorrowed
from properties.inconsistency import Inconsistent, require_alike
from properties.lives import CALLS, END, Life, told

READY: Final = "ready"
MOST: Final = 20
"""Signals for each that has to land inside a call."""

PASS: Final = (
    *("prefill", "decode", *["copy"] * 5, "decode", *["fill spare"] * 5),
    *(*["reset"] * 20, "prefill", *["close", "bind"] * 5, "decode", "close", "bind"),
    *("reset", "prefill", "generate", "copy", "decode", *END),
)
"""Calls that are over soon come often, to be met at all."""

_IS_OPEN: Final = tuple(
    accumulate(
        PASS,
        lambda is_open, call: call == "bind" or (is_open and call != "close"),
        initial=True,
    )
)[1:]
"""Whether a session is open after each call, told by nothing but their names."""

_ENGINE: Final = str(Path(engine.__file__).parent)


class Survivor:
    """A life under signals, and the same life undisturbed."""

    def __init__(self, seed: int) -> None:
        self.inside = Counter[str]()
        self.outside = 0
        self._seed = seed
        self._life = Life(seed)
        self._twin = Life(seed)
        self._position = 0

    def meet_one(self) -> None:
        """Live until a signal comes, and look at what it left."""
        answers: list[object] = []
        parent = os.getppid()
        try:
            os.write(sys.stdout.fileno(), f"{READY}\n".encode())
            for call in islice(cycle(PASS), self._position, None):
                answers.append(CALLS[call](self._life))
                if os.getppid() != parent:
                    sys.exit("the parent is gone")
        except KeyboardInterrupt as interrupt:
            self._catch_up(answers)
            self._settle(interrupt.__traceback__)
        except BaseException:
            # The signal is still on its way, and must not strike the complaint.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise

    def _catch_up(self, answers: list[object]) -> None:
        for answer in answers:
            call = self._next()
            require_alike(call, told(CALLS[call](self._twin)), told(answer))

    def _settle(self, traceback: TracebackType | None) -> None:
        """The call that was interrupted happened or did not, and life goes on."""
        is_open = _IS_OPEN[self._position]
        call = self._next()
        n_signals = self.inside.total() + self.outside
        where = f"seed {self._seed}, signal {n_signals}, in {call}"
        before = self._twin.standing()
        due = told(CALLS[call](self._twin))
        if self._life.standing() == before:
            require_alike(where, due, told(CALLS[call](self._life)))
        require_alike(where, self._twin.standing(), self._life.standing())
        require_alike(f"{where}: open", is_open, self._life.is_bound)
        if is_open:
            self._refuse_step(where)
            self._go_on(self._next(), self._next())
        if n_signals % 2 or not is_open:
            self._go_on(*END)
            self._position = 0
        require_alike(where, self._twin.standing(), self._life.standing())
        if _is_inside(traceback):
            self.inside[call] += 1
        else:
            self.outside += 1

    def _refuse_step(self, where: str) -> None:
        try:
            self._life.step()
        except ParameterBorrowed:
            return
        raise Inconsistent(f"{where}: a step was taken while a session was open")

    def _go_on(self, *calls: str) -> None:
        for call in calls:
            due = told(CALLS[call](self._twin))
            require_alike(call, due, told(CALLS[call](self._life)))

    def _next(self) -> str:
        call = PASS[self._position]
        self._position = (self._position + 1) % len(PASS)
        return call


def _is_inside(traceback: TracebackType | None) -> bool:
    """Whether the engine was at work where the signal struck."""
    return any(
        frame.f_code.co_filename.startswith(_ENGINE) for frame, _ in walk_tb(traceback)
    )


def main(n_signals: int) -> None:
    """Live until so many signals have landed inside calls, and tell the counts.

    Raises:
        Inconsistent: a signal left something in between, or they land elsewhere.
    """
    # What started the parent may have had it ignore the signal, which is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    survivor = Survivor(randbits(64))
    while survivor.inside.total() < n_signals:
        survivor.meet_one()
        if survivor.outside > MOST * n_signals:
            raise Inconsistent(f"of {survivor.outside} signals too few met a call")
    print(json.dumps([survivor.outside, survivor.inside]))  # noqa: T201 # for the parent


if __name__ == "__main__":
    main(int(sys.argv[1]))
