"""All recorded decoders with shared key/value heads: by the engine, and by replay."""

import json
from typing import TypedDict

import numpy as np
import pytest

from engine import Decoder, DecoderConfig, KVCache, SplitMix64
from reference import replay
from tests.golden_traces import EXACT, Floats, distance, lines
from tests.replayed import weights_of


class OurConfig(TypedDict):
    vocab_size: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_ff: int
    n_layers: int
    capacity: int
    rope_base: float
    rms_epsilon: float


class GroupedTrace(TypedDict):
    id: int
    config: OurConfig
    init_seed: str
    token_ids: list[int]
    logits: Floats
    keys: list[Floats]
    values: list[Floats]


TRACES: list[GroupedTrace] = [json.loads(line) for line in lines("grouped.jsonl.gz")]
N_MODELS = 24
N_POSITIONS = 159
EACH_MODEL = pytest.mark.parametrize(
    "index", range(N_MODELS), ids=[f"grouped-{index}" for index in range(N_MODELS)]
)


@EACH_MODEL
def test_decoded_rows_are_as_recorded(index: int) -> None:
    """From a prompt of one token, so that every position's logits are seen."""
    trace = TRACES[index]
    cache = KVCache(decoder := decoder_of(trace))
    first, *others = trace["token_ids"]

    with cache.bind(decoder) as session:
        outputs = [session.prefill([first])]
        outputs.extend(session.decode(token_id) for token_id in others)
    logits = np.concatenate([output.logits for output in outputs])

    assert trace["id"] == index
    assert distance(logits, trace["logits"]) <= EXACT
    compare_layers(cache, trace)


@EACH_MODEL
def test_prefilled_rows_are_as_recorded(index: int) -> None:
    trace = TRACES[index]
    cache = KVCache(decoder := decoder_of(trace))

    with cache.bind(decoder) as session:
        newest = session.prefill(trace["token_ids"]).logits

    assert distance(newest, trace["logits"][-newest.size :]) <= EXACT
    compare_layers(cache, trace)


@EACH_MODEL
def test_replayed_rows_are_as_recorded(index: int) -> None:
    trace = TRACES[index]
    decoder, token_ids = decoder_of(trace), trace["token_ids"]
    config = decoder.config

    replayed = replay(config, weights_of(decoder), token_ids)

    assert distance(replayed.logits, trace["logits"]) <= EXACT
    for ours, theirs in zip(replayed.keys, trace["keys"], strict=True):
        assert distance(ours, theirs) <= EXACT
    for ours, theirs in zip(replayed.values, trace["values"], strict=True):
        assert distance(ours, theirs) <= EXACT
    shapes = {rows.shape for rows in (*replayed.keys, *replayed.values)}
    assert shapes == {(config.n_kv_heads, len(token_ids), config.head_dim)}
    lanes = config.n_layers * config.n_heads
    assert replayed.attention_scores == lanes * len(token_ids) ** 2


def test_models_share_heads_in_every_way() -> None:
    groups = {
        (trace["config"]["n_kv_heads"], trace["config"]["n_heads"]) for trace in TRACES
    }

    assert len(TRACES) == N_MODELS
    assert sum(len(trace["token_ids"]) for trace in TRACES) == N_POSITIONS
    assert groups == {(1, 2), (1, 3), (1, 4), (2, 4), (2, 6), (2, 8), (3, 3), (3, 6)}


def decoder_of(trace: GroupedTrace) -> Decoder:
    config = DecoderConfig(**trace["config"])
    return Decoder.initialize(config, SplitMix64(int(trace["init_seed"], 16)))


def compare_layers(cache: KVCache, trace: GroupedTrace) -> None:
    for rows, keys, values in zip(
        cache.layers, trace["keys"], trace["values"], strict=True
    ):
        assert distance(rows.keys, keys) <= EXACT
        assert distance(rows.values, values) <= EXACT
