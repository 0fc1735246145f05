"""Generation by replay: every decision reads the complete prefix again."""

import math
from itertools import accumulate
from numbers import Real

from engine import errors
from engine.config import DecoderConfig, exact_float
from engine.request import (
    Generation,
    GenerationRequest,
    GenerationStep,
    GenerationWork,
    HasState,
    Mode,
    TopK,
)
from reference.replay import Tokens, Weights, checked_prompt, integer, replay


def generate_by_replay(
    config: DecoderConfig,
    weights: Weights,
    prompt: Tokens,
    request: GenerationRequest,
    rng: HasState,
) -> Generation:
    """Extend ``prompt`` as asked; a refusal or failure leaves ``rng`` where it was."""
    start = checked_prompt(config, prompt)
    request = _judged(config, request)
    history, steps, state, stop = list(start), list[GenerationStep](), rng.state, ""
    while not stop and request.max_new_tokens:
        logits = replay(config, weights, history).logits[-1].tolist()
        step, state = _decision(len(history), logits, request.mode, state)
        steps.append(step)
        history.append(step.token_id)
        if step.token_id == request.eos_token:
            stop = "eos"
        elif len(steps) == request.max_new_tokens:
            stop = "token-limit"
        elif len(history) > config.capacity:
            stop = "context-limit"
    rng.state = state
    return Generation(
        prompt=start,
        generated=tuple(history[len(start) :]),
        steps=tuple(steps),
        stop=stop or "token-limit",
        final_length=steps[-1].prefix_length if steps else 0,
        work=_work(config, [step.prefix_length for step in steps]),
    )


def _judged(config: DecoderConfig, request: GenerationRequest) -> GenerationRequest:
    """The request in plain numbers; its first fault is raised instead."""
    eos, mode = request.eos_token, request.mode
    if eos is not None and not 0 <= (eos := integer(eos)) < config.vocab_size:
        raise errors.EosTokenOutOfRange(eos, config.vocab_size)
    if isinstance(mode, TopK):
        temperature: object = mode.temperature
        if not isinstance(temperature, Real):
            raise TypeError(f"{temperature!r} is no real number")
        if not 0 < (number := exact_float(temperature)) < math.inf:
            raise errors.InvalidTemperature(temperature)
        mode = TopK(temperature=number, k=integer(mode.k))
        if not 1 <= mode.k <= config.vocab_size:
            raise errors.InvalidTopK(mode.k, config.vocab_size)
    if (budget := integer(request.max_new_tokens)) < 0:
        raise errors.InvalidBudget(budget)
    return GenerationRequest(mode=mode, eos_token=eos, max_new_tokens=budget)


def _decision(
    length: int, logits: list[float], mode: Mode, state: int
) -> tuple[GenerationStep, int]:
    """One chosen token, and the generator's state after it."""
    ranked = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    token_id, draw, start, end = ranked[0], None, 0.0, 1.0
    if isinstance(mode, TopK):
        shares = _shares([logits[i] for i in ranked], mode)
        walk = sorted((i, p) for i, p in zip(ranked, shares, strict=False) if p > 0)
        ends = [*accumulate(p for _, p in walk[:-1]), 1.0]
        state, draw = _unit_draw(state)
        chosen = next(place for place, end in enumerate(ends) if draw < end)
        token_id, start, end = walk[chosen][0], [0.0, *ends][chosen], ends[chosen]
    return GenerationStep(
        prefix_length=length,
        token_id=token_id,
        unit_draw=draw,
        interval_start=start,
        interval_end=end,
    ), state


def _shares(ranked: list[float], mode: TopK) -> list[float]:
    """Probabilities of the first ``k``, by a Kahan sum in rank order."""
    top, heat, weights = ranked[0], mode.temperature, [1.0]
    for logit in ranked[1 : mode.k]:
        gap = (logit - top) / heat if heat < 1 else logit / heat - top / heat
        weights.append(math.exp(gap))
    total = excess = 0.0
    for weight in weights:
        part = weight - excess
        excess, total = (total + part - total) - part, total + part
    return [weight / total for weight in weights]


def _unit_draw(state: int) -> tuple[int, float]:
    """SplitMix64: the next state, and its draw in [0, 1)."""
    state = (state + 0x9E3779B97F4A7C15) % 2**64
    word = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return state, ((word ^ word >> 31) >> 11) * 2.0**-53


def _work(config: DecoderConfig, prefixes: list[int]) -> GenerationWork:
    """What a cache would have cost, and what the replays did cost, by formula."""
    first, last = (prefixes[0], prefixes[-1]) if prefixes else (0, 0)
    layers, lanes = config.n_layers, config.n_layers * config.n_heads
    return GenerationWork(
        prefill_tokens=first,
        decode_tokens=last - first,
        layer_caches=layers,
        cache_appends=layers * last,
        qkv_projection_rows=3 * layers * last,
        cached_attention_scores=lanes * last * (last + 1) // 2,
        replayed_attention_scores=lanes * sum(prefix**2 for prefix in prefixes),
    )
