"""The chapter's two decoders: recorded to the bit, and the figures of its report."""

import json
import re
from typing import TypedDict

import numpy as np
import pytest

from engine import (
    Decoder,
    Generation,
    GenerationRequest,
    KVCache,
    Parameter,
    SplitMix64,
    TopK,
    generate,
)
from reference import replay
from tests.golden_traces import (
    EXACT,
    GOLDEN,
    Floats,
    RecordedConfig,
    config_of,
    distance,
)
from tests.replayed import Generate, replayed_generation, weights_of


class RecordedParameter(TypedDict):
    name: str
    shape: list[int]
    values: Floats


class TwoBlocks(TypedDict):
    config: RecordedConfig
    init_seed: int
    parameters: list[RecordedParameter]
    prefill_logits: Floats
    prefill_complete_prefix_logits: Floats
    decode_logits: Floats
    decode_complete_prefix_logits: Floats


class Restored(TypedDict):
    config: RecordedConfig
    parameters: list[RecordedParameter]
    rng_state: str
    tokenizer_pieces: list[str]
    checkpoint_bytes: int


class Fixture(TypedDict):
    fixture: TwoBlocks
    restored: Restored
    report: str
    trace: str


FIXTURE: Fixture = json.loads((GOLDEN / "fixture.json").read_text(encoding="utf-8"))
TWO_BLOCKS, RESTORED = FIXTURE["fixture"], FIXTURE["restored"]
EACH_PATH = pytest.mark.parametrize("path", [generate, replayed_generation])


def test_initialized_parameters_are_the_recorded_bits() -> None:
    parameters = two_blocks().parameters

    assert [each.name for each in parameters] == [
        recorded["name"] for recorded in TWO_BLOCKS["parameters"]
    ]
    for parameter, recorded in zip(parameters, TWO_BLOCKS["parameters"], strict=True):
        assert parameter.value.tobytes() == parameter_of(recorded).value.tobytes()
        assert parameter.value.shape == tuple(recorded["shape"])


def test_newest_logits_are_as_recorded() -> None:
    cache = KVCache(decoder := two_blocks())

    with cache.bind(decoder) as session:
        prefilled = session.prefill([0, 1])
        decoded = session.decode(2)

    assert distance(prefilled.logits, TWO_BLOCKS["prefill_logits"]) <= EXACT
    assert distance(decoded.logits, TWO_BLOCKS["decode_logits"]) <= EXACT


def test_replayed_logits_are_as_recorded() -> None:
    decoder = two_blocks()
    _, prefilled, decoded = replay(
        decoder.config, weights_of(decoder), [0, 1, 2]
    ).logits

    recorded = TWO_BLOCKS["prefill_complete_prefix_logits"]
    assert distance(prefilled, recorded) <= EXACT
    recorded = TWO_BLOCKS["decode_complete_prefix_logits"]
    assert distance(decoded, recorded) <= EXACT


def test_work_is_as_reported() -> None:
    cache = KVCache(decoder := two_blocks())
    reported = figures("work")

    with cache.bind(decoder) as session:
        session.prefill([0, 1])
        session.decode(2)
    replayed = sum(
        replay(decoder.config, weights_of(decoder), prefix).attention_scores
        for prefix in ([0, 1], [0, 1, 2])
    )

    assert cache.work.prefill_tokens == int(reported["prefill_tokens"])
    assert cache.work.decode_tokens == int(reported["decode_tokens"])
    assert cache.work.cache_appends == int(reported["cache_appends"])
    assert cache.work.qkv_projection_rows == int(reported["qkv_rows"])
    assert cache.work.attention_scores == int(reported["cached_scores"])
    assert replayed == int(reported["complete_prefix_scores"])


@EACH_PATH
def test_restored_decoder_generates_as_reported(path: Generate) -> None:
    generation, _ = generated(path, None)
    reported = figures("loaded")
    prefixes = [step.prefix_length for step in generation.steps]
    text = "".join(RESTORED["tokenizer_pieces"][i] for i in generation.generated)

    assert list(generation.prompt) == json.loads(reported["prompt"])
    assert list(generation.generated) == json.loads(reported["generated"])
    assert text == reported["text"]
    assert prefixes == json.loads(reported["prefixes"])
    assert generation.stop == reported["stop"]
    assert generation.final_length == int(reported["final_cache"])
    assert generation.work.prefill_tokens == int(reported["prefill_tokens"])
    assert generation.work.decode_tokens == int(reported["decode_tokens"])
    assert generation.work.cached_attention_scores == int(reported["cached_scores"])
    replayed = generation.work.replayed_attention_scores
    assert replayed == int(reported["complete_prefix_scores"])


@EACH_PATH
def test_restored_decoder_stops_at_eos_as_reported(path: Generate) -> None:
    reported = figures("eos")
    generation, _ = generated(path, int(reported["token"]))

    assert list(generation.generated) == json.loads(reported["generated"])
    assert generation.stop == reported["stop"]
    assert generation.final_length == int(reported["final_cache"])
    assert generation.work.decode_tokens == int(reported["decode_tokens"])


@pytest.mark.parametrize("eos_token", [None, 4])
def test_restored_decoder_leaves_one_state_on_both_paths(eos_token: int | None) -> None:
    cached, state = generated(generate, eos_token)
    replayed, state_by_replay = generated(replayed_generation, eos_token)

    assert cached.generated == replayed.generated
    assert state == state_by_replay != int(RESTORED["rng_state"], 16)


def two_blocks() -> Decoder:
    seed = SplitMix64(TWO_BLOCKS["init_seed"])
    return Decoder.initialize(config_of(TWO_BLOCKS["config"]), seed)


def parameter_of(recorded: RecordedParameter) -> Parameter:
    value = np.array(recorded["values"], dtype=np.float64).reshape(recorded["shape"])
    return Parameter(recorded["name"], value)


def generated(path: Generate, eos_token: int | None) -> tuple[Generation, int]:
    """From the restored decoder, and the generator's state after it."""
    parameters = map(parameter_of, RESTORED["parameters"])
    decoder = Decoder.from_parameters(config_of(RESTORED["config"]), parameters)
    request = GenerationRequest(
        mode=TopK(temperature=1.0, k=3), eos_token=eos_token, max_new_tokens=4
    )
    rng = SplitMix64(int(RESTORED["rng_state"], 16))
    generation = path(decoder, [0], request, rng)
    return generation, rng.state


def figures(subject: str) -> dict[str, str]:
    """The figures of one line of the report, by name."""
    line = re.search(rf"^{subject}=(.*)$", FIXTURE["report"], re.MULTILINE)
    assert line is not None
    return dict(figure.split(":") for figure in line[1].split())
