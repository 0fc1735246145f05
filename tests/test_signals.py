"""The hunts with signals and kills find engines that stop half-way."""

from signal import SIGKILL
from typing import Final

import pytest

from properties import children
from properties.children import child
from properties.inconsistency import Inconsistent
from properties.kills import Killed, hunt_kills, kills_table
from properties.signals import Signalled, hunt_signals, signals_table

N: Final = 300

LIVE: Final = """
import sys, time
from engine import DecoderSession
from engine.prefix import State
import engine.optimizer
from properties.under_signals import main
{}
main(int(sys.argv[1]))
"""

STORES_ONE_BY_ONE: Final = """
def store_slowly(*stores):
    for store in zip(*stores):
        setattr(*store)
        time.sleep(1e-4)
engine.optimizer.store_together = store_slowly
"""

COMMITS_ROW_BY_ROW: Final = """
row_of = DecoderSession._row
def committed_row(session, weights, token_id, position):
    row = row_of(session, weights, token_id, position)
    session._prefix.state = State(position + 1, session._prefix.state.work)
    return row
DecoderSession._row = committed_row
"""

BORROWS_NOTHING: Final = """
class Nobody:
    pass
DecoderSession._borrower = property(lambda _: Nobody())
"""

FORGETS_NO_BORROW: Final = """
kept = []
DecoderSession._borrower = property(lambda self: kept.append(self._lease) or kept[-1])
"""

IDLE: Final = """
from properties import under_signals as child
child.CALLS["reset"] = lambda life: None
child.MOST, child.PASS, child._IS_OPEN = 1, ("reset",), (True,)
child.main(2)
"""

SAVE: Final = """
import os, sys, time
from pathlib import Path
import engine.checkpoint
from properties.savers import main
{}
engine.checkpoint.replace_file = replace
main(Path(sys.argv[1]), int(sys.argv[2]))
"""

WRITES_IN_PLACE: Final = """
def replace(path, content):
    with open(path, "wb") as file:
        file.write(content[:100])
        file.flush()
        time.sleep(1e-3)
        file.write(content[100:])
"""

LEAVES_ITS_DRAFT: Final = """
right = engine.checkpoint.replace_file
def replace(path, content):
    Path(path).with_name(f".{time.time_ns()}.partial").write_bytes(content)
    right(path, content)
"""

DRAFTS_OPENLY: Final = """
def replace(path, content):
    draft = Path(path).with_name("new.safetensors")
    draft.write_bytes(content)
    time.sleep(1e-3)
    draft.replace(path)
"""

SAVES_NOTHING: Final = """
def replace(path, content):
    Path(path).exists() or Path(path).write_bytes(content)
"""


RAISES: Final = """
right, first = engine.checkpoint.replace_file, os.getpid()
def replace(path, content):
    if os.getpid() != first:
        raise OSError("disk full")
    right(path, content)
"""

LIVES: Final = {
    "stores one by one": (STORES_ONE_BY_ONE, r"in step\.parameters"),
    "commits row by row": (COMMITS_ROW_BY_ROW, r"in (prefill|decode)\.cache\."),
    "borrows nothing": (BORROWS_NOTHING, "open\n  due    True"),
    "forgets no borrow": (FORGETS_NO_BORROW, "CacheInUse|is_bound|is borrowed"),
}

SAVERS: Final = {
    "writes in place": (WRITES_IN_PLACE, "bytes, torn"),
    "leaves its draft": (LEAVES_ITS_DRAFT, r"a kill left \["),
    "leaves what is like a state": (DRAFTS_OPENLY, "a kill left new.safetensors"),
    "saves nothing": (SAVES_NOTHING, "a loaded file"),
    "raises": (RAISES, r"disk full\n(.*\n)*.*has ended by itself"),
}


@pytest.mark.parametrize(("fault", "complaint"), LIVES.values(), ids=LIVES)
def test_signals_find_an_engine_that(fault: str, complaint: str) -> None:
    with pytest.raises(Inconsistent, match=complaint):
        hunt_signals(N, ("-c", LIVE.format(fault)))


@pytest.mark.parametrize(("fault", "complaint"), SAVERS.values(), ids=SAVERS)
def test_kills_find_an_engine_that(fault: str, complaint: str) -> None:
    with pytest.raises(Inconsistent, match=complaint):
        hunt_kills(N, ("-c", SAVE.format(fault)))


def test_signals_that_meet_no_call_are_not_enough() -> None:
    with pytest.raises(Inconsistent, match="of 3 signals too few met a call"):
        hunt_signals(2, ("-c", IDLE))


def test_child_that_ends_shows_its_complaint() -> None:
    complains = "import sys; print('one'); sys.exit('all went wrong')"
    with child(["-c", complains]) as ended:
        line = ended.line()
        with pytest.raises(Inconsistent, match=r"ended with code 1:\nall went wrong"):
            ended.line()

    assert line == "one"


def test_child_that_tells_nothing_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "PATIENCE", 0.1)
    with (
        child(["-c", "import time; time.sleep(600)"]) as silent,
        pytest.raises(Inconsistent, match="was killed with code -9"),
    ):
        silent.line()


def test_child_that_is_left_is_killed() -> None:
    with child(["-c", "import time; time.sleep(600)"]) as left:
        assert left.process.poll() is None

    assert left.process.returncode == -SIGKILL


def test_figures_of_signals_are_shown() -> None:
    by_call = {"prefill": 1_200, "decode": 30}
    signalled = Signalled(delivered=1_234, by_call=by_call, seconds=5.04)
    table = signals_table(signalled)
    names, times = (list(column.cells) for column in table.columns)

    assert (signalled.inside, signalled.outside) == (1_230, 4)
    assert table.title == "signals, in 5.0 s"
    assert names == ["prefill", "decode", "no call", "all"]
    assert times == ["1,200", "30", "4", "1,234"]


def test_figures_of_kills_are_shown() -> None:
    killed = Killed(kills=1_234, old=1_000, new=200, leftovers=100, seconds=5.04)
    table = kills_table(killed)
    *_, times = (list(column.cells) for column in table.columns)

    assert killed.inside == 1_200
    assert table.title == "kills of a process that saves, in 5.0 s"
    assert times == ["1,000", "200", "34", "1,234", "100"]
