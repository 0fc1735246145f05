"""The golden session traces as typed records, and the measure of a difference."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypedDict, final

import numpy as np

from engine import DecoderConfig, Work
from reference.replay import Real, Reals

GOLDEN: Final = Path(__file__).parent / "golden"
EXACT: Final = 2e-12
LOOSE: Final = 1e-8  # after a step whose gradients were not recorded

Floats: TypeAlias = list[str]  # decimal strings that round-trip


class RecordedConfig(TypedDict):
    vocabulary_size: int
    model_width: int
    heads: int
    feed_forward_width: int
    layers: int
    max_positions: int
    rope_base: float
    rms_epsilon: float


@final
class Refused(TypedDict):
    error: str
    message: str


@final
class RecordedWork(TypedDict):
    token_forwards: int
    prefill_tokens: int
    decode_tokens: int
    cache_appends: int
    qkv_projection_rows: int
    attention_score_values: int


@final
class State(TypedDict):
    len: int
    layer_lens: list[int]
    work: RecordedWork


@final
class Row(TypedDict):
    ok: Literal[True]
    position: int
    cache_len: int
    scores: int
    logits: Floats
    complete_prefix_logits: Floats
    complete_prefix_scores: int


@final
class Bound(TypedDict):
    ok: Literal[True]


@final
class Stepped(TypedDict):
    ok: Literal[True]
    step: int


@final
class NewCache(TypedDict):
    op: Literal["new_cache"]
    state: State


@final
class Bind(TypedDict):
    op: Literal["bind"]
    result: Bound | Refused


@final
class BindRebuilt(TypedDict):
    op: Literal["bind_rebuilt_equal_values"]
    replaced_from: int
    only_that_one: bool
    result: Refused


@final
class BindChanged(TypedDict):
    op: Literal["bind_changed_config"]
    field: str
    changed: RecordedConfig
    result: Refused


@final
class Prefill(TypedDict):
    op: Literal["prefill"]
    tokens: list[int]
    result: Row | Refused
    state: State


@final
class Decode(TypedDict):
    op: Literal["decode"]
    token: int
    result: Row | Refused
    state: State


@final
class Reset(TypedDict):
    op: Literal["reset"]
    state: State


@final
class OptimizerStep(TypedDict):
    op: Literal["optimizer_step"]
    result: Refused
    state: State


@final
class Close(TypedDict):
    op: Literal["close"]


@final
class Inspect(TypedDict):
    op: Literal["inspect"]
    keys: list[Floats]
    values: list[Floats]
    state: State


@final
class TrainStep(TypedDict):
    op: Literal["train_step"]
    tokens: list[int]
    targets: list[int]
    loss: str
    gradients: list[Floats] | None
    parameters_after: list[Floats] | None
    result: Stepped


Op: TypeAlias = (
    NewCache
    | Bind
    | BindRebuilt
    | BindChanged
    | Prefill
    | Decode
    | Reset
    | OptimizerStep
    | Close
    | Inspect
    | TrainStep
)


class RecordedAdamW(TypedDict):
    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float


class SessionTrace(TypedDict):
    id: int
    config: RecordedConfig
    init_seed: str
    adamw: RecordedAdamW
    ops: list[Op]


def lines(name: str) -> list[str]:
    """The JSON objects of one packed file."""
    packed = (GOLDEN / name).read_bytes()
    return gzip.decompress(packed).decode().splitlines()


def session_traces() -> list[SessionTrace]:
    return [json.loads(line) for line in lines("sessions.jsonl.gz")]


def config_of(recorded: RecordedConfig) -> DecoderConfig:
    return DecoderConfig(
        vocab_size=recorded["vocabulary_size"],
        d_model=recorded["model_width"],
        n_heads=recorded["heads"],
        n_kv_heads=recorded["heads"],
        d_ff=recorded["feed_forward_width"],
        n_layers=recorded["layers"],
        capacity=recorded["max_positions"],
        rope_base=recorded["rope_base"],
        rms_epsilon=recorded["rms_epsilon"],
    )


def work_of(recorded: RecordedWork) -> Work:
    return Work(
        token_forwards=recorded["token_forwards"],
        prefill_tokens=recorded["prefill_tokens"],
        decode_tokens=recorded["decode_tokens"],
        cache_appends=recorded["cache_appends"],
        qkv_projection_rows=recorded["qkv_projection_rows"],
        attention_scores=recorded["attention_score_values"],
    )


def distance(actual: Reals | Real | float, recorded: Sequence[str]) -> float:
    """The largest absolute difference; NaN for a NaN, infinite for differing sizes."""
    ours = np.ravel(np.asarray(actual))
    theirs = np.array(recorded, dtype=np.float64)
    if ours.size != theirs.size:
        return np.inf
    return float(np.max(np.abs(ours - theirs), initial=0.0))
