"""Calls that run at once, each in a thread of its own, in the hastiest way there is."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import randbelow
from threading import Barrier, Thread
from time import sleep
from typing import Final

_SECONDS_OF_A_TURN: Final = 1e-6
_STAGES_TO_A_PAUSE: Final = 10


def run_together(*calls: Callable[[], object]) -> None:
    """Start all calls at one moment, and wait for all; what one raises comes out."""
    gate = Barrier(len(calls))
    raised: list[BaseException] = []

    def run(call: Callable[[], object]) -> None:
        gate.wait()
        try:
            call()
        except BaseException as error:  # noqa: BLE001 # raised again where it is seen
            raised.append(error)

    threads = [Thread(target=run, args=(call,), daemon=True) for call in calls]
    with _hasty():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for error in raised:
        raise error


def give_way(*_: object) -> None:
    """As a probe: let another thread go on, at one stage of a few."""
    if not randbelow(_STAGES_TO_A_PAUSE):
        sleep(0)


@contextmanager
def _hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SECONDS_OF_A_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
