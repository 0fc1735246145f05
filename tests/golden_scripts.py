"""The recorded sessions as scripts."""

from engine import AdamWConfig
from engine.decoder import layout
from properties import calls
from properties.calls import Call, Changes
from properties.script import Script, Weights
from tests.golden_traces import (
    BindChanged,
    BindRebuilt,
    Op,
    SessionTrace,
    config_of,
)


def script_of(trace: SessionTrace) -> Script:
    """The same calls; the cache that every script begins with is closed at once."""
    config = config_of(trace["config"])
    made: list[Call] = [calls.Close()]
    cache = 0
    for op in trace["ops"]:
        if op["op"] == "new_cache":
            cache += 1
        made += _calls_of(op, cache, sum(1 for _ in layout(config)))
    return Script(
        config=config,
        weights=Weights(seed=int(trace["init_seed"], 16)),
        optimizer=AdamWConfig(**trace["adamw"]),
        calls=tuple(made),
    )


def _calls_of(op: Op, cache: int, n_parameters: int) -> list[Call]:  # noqa: C901, PLR0911 # one case an operation
    match op["op"]:
        case "new_cache":
            return [calls.NewCache()]
        case "bind":
            return [calls.Bind(cache=cache)]
        case "bind_rebuilt_equal_values":
            return [_rebuilt(op, cache, n_parameters)]
        case "bind_changed_config":
            return [_changed(op, cache)]
        case "prefill":
            return [calls.Prefill(cache=cache, prompt=tuple(op["tokens"]))]
        case "decode":
            return [calls.Decode(cache=cache, token_id=op["token"])]
        case "reset":
            return [calls.Reset(cache=cache)]
        case "optimizer_step":
            return [calls.Step()]
        case "close":
            return [calls.Close(cache=cache)]
        case "inspect":
            return []  # the judge looks after every call
        case "train_step":
            tokens, targets = tuple(op["tokens"]), tuple(op["targets"])
            return [calls.Train(tokens=tokens, targets=targets)]


def _rebuilt(op: BindRebuilt, cache: int, n_parameters: int) -> Call:
    first = op["replaced_from"]
    end = first + 1 if op["only_that_one"] else n_parameters
    return calls.BindRebuilt(cache=cache, rebuilt=tuple(range(first, end)))


def _changed(op: BindChanged, cache: int) -> Call:
    changed = config_of(op["changed"])
    changes = {
        "heads": Changes(n_heads=changed.n_heads, n_kv_heads=changed.n_kv_heads),
        "max_positions": Changes(capacity=changed.capacity),
        "rope_base": Changes(rope_base=changed.rope_base),
        "rms_epsilon": Changes(rms_epsilon=changed.rms_epsilon),
    }
    return calls.BindChanged(cache=cache, changes=changes[op["field"]])
