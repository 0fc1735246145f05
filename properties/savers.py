"""The child whose savers are killed: ``python -m properties.savers FOLDER N``.

It forks one saver after another, each of which writes two states over one another
without end, and kills it after a random time. It has one thread, so that forking is
safe, and shares two counters with each saver: the saves that have begun, and those that
have ended. It looks at the folder itself, while nobody saves.
"""

import json
import mmap
import os
import signal
import sys
import traceback
from collections import Counter
from pathlib import Path
from secrets import randbelow, randbits
from time import perf_counter, sleep
from typing import Final, NamedTuple

from engine import AdamWSnapshot, Loaded, load, save
from properties.inconsistency import Inconsistent, require_alike
from properties.lives import Life

MOST: Final = 20
"""Kills for each that has to land inside a save."""

_BEGUN, _ENDED = 0, 1


class Contents(NamedTuple):
    """What a file holds; compares bit for bit."""

    parameters: tuple[tuple[str, bytes], ...]
    optimizer: AdamWSnapshot | None
    generator: int | None


class Savers:
    """A file with the first of two states, and who writes the second over it."""

    def __init__(self, folder: Path) -> None:
        self.counts = Counter[str]()
        self._path = folder / "state.safetensors"
        self._lives = Life(randbits(64)), Life(randbits(64))
        for life in self._lives:
            life.session.close()
            life.step()
        began = perf_counter()
        second, first = self._saved(1), self._saved(0)
        self._bytes = first, second
        self._seconds_of_two = perf_counter() - began
        self._counters = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("Q")

    def kill_one(self) -> None:
        """Let one save for a random time, kill it, and look at what it left."""
        known = self._leftovers()
        self._kill(self._fork())
        begun, ended = self._counters[_BEGUN], self._counters[_ENDED]
        is_inside = begun > ended
        old, new = ended % 2, begun % 2
        content = self._path.read_bytes()
        if content not in (self._bytes[old], self._bytes[new]):
            raise Inconsistent(f"a kill left a file of {len(content)} bytes, torn")
        is_old = content == self._bytes[old]
        found = old if is_old else new
        due, came = self._state(found), load(self._path)
        require_alike("a loaded file", contents(due), contents(came))
        left = self._leftovers() - known
        if len(left) > is_inside:
            raise Inconsistent(f"a kill left {sorted(left)}")
        self._counters[_BEGUN] = self._counters[_ENDED] = ended if is_old else begun
        self.counts["kills"] += 1
        self.counts["leftovers"] += len(left)
        if is_inside:
            self.counts["old" if is_old else "new"] += 1

    @property
    def n_inside(self) -> int:
        """Kills inside a save."""
        return self.counts["old"] + self.counts["new"]

    def finish(self) -> None:
        """Whatever was left behind, the next save is the file and leaves nothing."""
        known = self._leftovers()
        for index in (0, 1):
            require_alike("the last save", self._bytes[index], self._saved(index))
        if self._leftovers() != known:
            raise Inconsistent("a save that was not killed left something behind")

    def _saved(self, index: int) -> bytes:
        self._save(index)
        return self._path.read_bytes()

    def _save(self, index: int) -> None:
        state = self._state(index)
        save(self._path, state.decoder, state.optimizer, state.rng)

    def _state(self, index: int) -> Loaded:
        life = self._lives[index]
        return Loaded(decoder=life.decoder, optimizer=life.optimizer, rng=life.rng)

    def _fork(self) -> int:
        parent = os.getpid()
        saver = os.fork()
        if not saver:
            try:
                self._save_on(parent)
            except BaseException:
                traceback.print_exc()
                raise
            finally:
                os._exit(1)  # a fork must not go on as its parent does
        return saver

    def _save_on(self, parent: int) -> None:
        while os.getppid() == parent:
            self._counters[_BEGUN] += 1
            self._save(self._counters[_BEGUN] % 2)
            self._counters[_ENDED] += 1

    def _kill(self, saver: int) -> None:
        sleep(randbelow(int(self._seconds_of_two * 1e6)) / 1e6)
        os.kill(saver, signal.SIGKILL)
        _, status = os.waitpid(saver, 0)
        if not os.WIFSIGNALED(status):
            raise Inconsistent("a saver has ended by itself")

    def _leftovers(self) -> set[str]:
        """What lies beside the file, which says of itself that it is no state."""
        names = {path.name for path in self._path.parent.iterdir()}
        others = names - {self._path.name}
        for name in others:
            if not (name.startswith(".") and name.endswith(".partial")):
                raise Inconsistent(f"a kill left {name}")
        return others


def contents(state: Loaded) -> Contents:
    """What is in a file of a state."""
    values = ((each.name, each.value.tobytes()) for each in state.decoder.parameters)
    return Contents(
        parameters=tuple(values),
        optimizer=None if state.optimizer is None else state.optimizer.snapshot(),
        generator=None if state.rng is None else state.rng.state,
    )


def main(folder: Path, n_kills: int) -> None:
    """Kill savers until so many were inside a save, and tell the counts.

    Raises:
        Inconsistent: a kill left neither file, or they land elsewhere.
    """
    savers, parent = Savers(folder), os.getppid()
    while savers.n_inside < n_kills:
        savers.kill_one()
        if os.getppid() != parent:
            sys.exit("the parent is gone")
        if savers.counts["kills"] > MOST * n_kills:
            raise Inconsistent(f"of {savers.counts['kills']} kills too few met a save")
    savers.finish()
    print(json.dumps(savers.counts))  # noqa: T201 # for the parent


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
