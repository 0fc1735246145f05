"""All recorded generation requests: cached by the engine, and by replay."""

import json
from collections import Counter
from typing import Literal, TypedDict, final

import pytest

from engine import (
    Decoder,
    Generation,
    GenerationRequest,
    GenerationWork,
    Greedy,
    SplitMix64,
    TopK,
    generate,
)
from tests.golden_refusals import recorded_refusal, refusal_by
from tests.golden_traces import (
    EXACT,
    RecordedConfig,
    Refused,
    config_of,
    distance,
    lines,
)
from tests.replayed import Generate, replayed_generation

N_REQUESTS = 200
OUTCOMES = {
    "eos": 9,
    "token-limit": 22,
    "context-limit": 46,
    "EmptyPrompt": 26,
    "PromptTooLong": 30,
    "PromptTokenOutOfRange": 15,
    "EosTokenOutOfRange": 2,
    "InvalidTemperature": 30,
    "InvalidTopK": 20,
}
N_STEPS = 245


@final
class RecordedStep(TypedDict):
    prefix_length: int
    token_id: int
    unit_draw: str | None
    interval_start: str
    interval_end: str


@final
class RecordedGenerationWork(TypedDict):
    prefill_tokens: int
    decode_tokens: int
    layer_cache_count: int
    cache_appends: int
    qkv_projection_rows: int
    cached_attention_score_values: int
    complete_prefix_attention_score_values: int


@final
class Generated(TypedDict):
    ok: Literal[True]
    generated: list[int]
    steps: list[RecordedStep]
    stop: str
    final_cache_len: int
    work: RecordedGenerationWork


@final
class Uncached(TypedDict):
    ok: Literal[True]
    generated: list[int]


@final
class GreedyMode(TypedDict):
    greedy: Literal[True]


@final
class TopKMode(TypedDict):
    temperature: float
    top_k: int


class RequestTrace(TypedDict):
    id: int
    config: RecordedConfig
    init_seed: str
    prompt: list[int]
    mode: GreedyMode | TopKMode
    eos_token: int | None
    max_new_tokens: int
    rng_state_before: str
    result: Generated | Refused
    rng_state_after: str
    uncached: Uncached | Refused
    uncached_rng_state_after: str


TRACES: list[RequestTrace] = [json.loads(line) for line in lines("generation.jsonl.gz")]
EACH_REQUEST = pytest.mark.parametrize(
    "index", range(N_REQUESTS), ids=[f"request-{index}" for index in range(N_REQUESTS)]
)


@EACH_REQUEST
def test_generation_goes_as_recorded(index: int) -> None:
    trace = TRACES[index]

    assert trace["id"] == index
    compare(generate, trace, trace["result"], trace["rng_state_after"])


@EACH_REQUEST
def test_generation_by_replay_goes_as_recorded(index: int) -> None:
    trace = TRACES[index]
    uncached = trace["uncached"]

    compare(
        replayed_generation, trace, trace["result"], trace["uncached_rng_state_after"]
    )
    if "error" in trace["result"]:
        assert "error" in uncached
        assert uncached["error"] == trace["result"]["error"]
    else:
        assert "generated" in uncached
        assert uncached["generated"] == trace["result"]["generated"]


def test_requests_end_in_every_way() -> None:
    outcomes = Counter(
        recorded_refusal(result["error"])[0].__name__
        if "error" in result
        else result["stop"]
        for result in (trace["result"] for trace in TRACES)
    )
    n_steps = sum(
        len(trace["result"]["steps"]) for trace in TRACES if "steps" in trace["result"]
    )

    assert len(TRACES) == N_REQUESTS
    assert outcomes == OUTCOMES
    assert n_steps == N_STEPS


def compare(
    path: Generate, trace: RequestTrace, result: Generated | Refused, state_after: str
) -> None:
    seed = SplitMix64(int(trace["init_seed"], 16))
    decoder = Decoder.initialize(config_of(trace["config"]), seed)
    rng = SplitMix64(int(trace["rng_state_before"], 16))
    request = request_of(trace)
    if "error" in result:
        refusal = refusal_by(lambda: path(decoder, trace["prompt"], request, rng))
        assert refusal == recorded_refusal(result["error"])
    else:
        generation = path(decoder, trace["prompt"], request, rng)
        assert generation.prompt == tuple(trace["prompt"])
        compare_generation(generation, result)
    assert rng.state == int(state_after, 16)


def request_of(trace: RequestTrace) -> GenerationRequest:
    mode = trace["mode"]
    return GenerationRequest(
        mode=Greedy()
        if "greedy" in mode
        else TopK(temperature=mode["temperature"], k=mode["top_k"]),
        eos_token=trace["eos_token"],
        max_new_tokens=trace["max_new_tokens"],
    )


def compare_generation(generation: Generation, result: Generated) -> None:
    recorded = result["work"]
    assert generation.generated == tuple(result["generated"])
    assert generation.stop == result["stop"]
    assert generation.final_length == result["final_cache_len"]
    assert generation.work == GenerationWork(
        prefill_tokens=recorded["prefill_tokens"],
        decode_tokens=recorded["decode_tokens"],
        layer_caches=recorded["layer_cache_count"],
        cache_appends=recorded["cache_appends"],
        qkv_projection_rows=recorded["qkv_projection_rows"],
        cached_attention_scores=recorded["cached_attention_score_values"],
        replayed_attention_scores=recorded["complete_prefix_attention_score_values"],
    )
    for ours, theirs in zip(generation.steps, result["steps"], strict=True):
        assert ours.prefix_length == theirs["prefix_length"]
        assert ours.token_id == theirs["token_id"]
        assert distance(ours.interval_start, [theirs["interval_start"]]) <= EXACT
        assert distance(ours.interval_end, [theirs["interval_end"]]) <= EXACT
        if theirs["unit_draw"] is None:
            assert ours.unit_draw is None
        else:
            assert ours.unit_draw is not None
            assert distance(ours.unit_draw, [theirs["unit_draw"]]) <= EXACT
