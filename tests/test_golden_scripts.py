"""The recorded sessions as scripts: judged, and answered as they were recorded."""

from importlib.resources import files

import pytest

from engine import DecoderConfig, Parameter
from engine.decoder import layout
from properties.judge import Judge
from properties.script import from_json, to_json
from tests.golden_refusals import recorded_refusal
from tests.golden_scripts import script_of
from tests.golden_traces import Op, config_of, session_traces

TRACES = session_traces()
CORPUS = files("properties") / "corpus"


@pytest.mark.parametrize(
    "index", range(len(TRACES)), ids=[f"session-{i}" for i in range(len(TRACES))]
)
def test_script_is_answered_as_recorded(index: int) -> None:
    trace = TRACES[index]
    ops = [op for op in trace["ops"] if op["op"] != "inspect"]
    config = config_of(trace["config"])

    _, *seen = Judge()(script_of(trace)).seen

    assert [each.outcome for each in seen] == [outcome_of(op, config) for op in ops]
    for each, op in zip(seen, ops, strict=True):
        if op["op"] in {"prefill", "decode", "reset"}:
            assert each.length == op["state"]["len"]


def test_corpus_has_them_all() -> None:
    for trace in TRACES:
        stored = CORPUS / f"golden-{trace['id']:02}.json"

        assert from_json(stored.read_bytes()) == script_of(trace)
        assert stored.read_text(encoding="utf-8") == to_json(script_of(trace))


def outcome_of(op: Op, config: DecoderConfig) -> str:
    """``done``, or the class of our error."""
    if "result" not in op or "error" not in op["result"]:
        return "done"
    names = [Parameter(name, [0.0]) for name, _ in layout(config)]
    leaf, _ = recorded_refusal(op["result"]["error"], names)
    return leaf.__name__
