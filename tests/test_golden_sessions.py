"""All recorded sessions, replayed to their end: cached by the engine, and uncached."""

from collections import Counter

import pytest

from tests.golden_player import Player
from tests.golden_traces import Op, session_traces

TRACES = session_traces()
N_SESSIONS = 80
N_STEPS_WITH_GRADIENTS = 49
OPS = {
    "new_cache": 171,
    "bind": 213,
    "bind_rebuilt_equal_values": 18,
    "bind_changed_config": 28,
    "prefill": 268,
    "decode": 294,
    "reset": 84,
    "optimizer_step": 78,
    "close": 163,
    "inspect": 213,
    "train_step": 96,
}
REFUSALS = {
    "bind": 50,
    "bind_rebuilt_equal_values": 18,
    "bind_changed_config": 28,
    "prefill": 86,
    "decode": 175,
    "optimizer_step": 78,
}


@pytest.mark.parametrize(
    "index", range(N_SESSIONS), ids=[f"session-{index}" for index in range(N_SESSIONS)]
)
def test_session_goes_as_recorded(index: int) -> None:
    trace = TRACES[index]
    player = Player.of(trace)

    for op in trace["ops"]:
        player.play(op)

    assert trace["id"] == index
    assert player.played == kinds(trace["ops"])
    assert player.refused == kinds_refused(trace["ops"])


def test_sessions_hold_every_kind_of_operation() -> None:
    ops = [op for trace in TRACES for op in trace["ops"]]

    assert len(TRACES) == N_SESSIONS
    assert kinds(ops) == OPS
    assert kinds_refused(ops) == REFUSALS
    assert (
        sum(op["op"] == "train_step" and op["gradients"] is not None for op in ops)
        == N_STEPS_WITH_GRADIENTS
    )


def kinds(ops: list[Op]) -> Counter[str]:
    return Counter(op["op"] for op in ops)


def kinds_refused(ops: list[Op]) -> Counter[str]:
    return Counter(op["op"] for op in ops if "result" in op and "error" in op["result"])
