"""Generation by replay: every decision reads the complete prefix again."""

import math
from collections.abc import Callable
from functools import partial
from numbers import Real

from engine import errors, request as data
from engine.config import DecoderConfig, exact_float
from reference.replay import Replay, Weights, replay
from reference.tokens import Tokens, checked_prompt, integer


def generate_by_replay(
    config: DecoderConfig,
    weights: Weights,
    prompt: Tokens,
    request: data.GenerationRequest,
    rng: data.HasState,
) -> data.Generation:
    """Extend ``prompt`` as asked; a refusal or failure leaves ``rng`` where it was."""
    return generate_by_reading(
        partial(replay, config, weights), config, prompt, request, rng
    )


def generate_by_reading(
    read: Callable[[tuple[int, ...]], Replay],
    config: DecoderConfig,
    prompt: Tokens,
    request: data.GenerationRequest,
    rng: data.HasState,
) -> data.Generation:
    """The same, from whoever knows the replay of every prefix that is asked for."""
    start = checked_prompt(config, prompt)
    request = _exact(config.vocab_size, request)
    steps, state = list[data.GenerationStep](), rng.state
    history = start
    room = config.capacity + 1 - len(start)  # the last token is decided, never read
    stop = "token-limit" if request.max_new_tokens <= room else "context-limit"
    for _ in range(min(request.max_new_tokens, room)):
        step, state = _step(read(history), request.mode, state)
        steps.append(step)
        history = (*history, step.token_id)
        if step.token_id == request.eos_token:
            stop = "eos"
            break
    rng.state = state
    first, last = (len(start), len(history) - 1) if steps else (0, 0)
    layers, lanes = config.n_layers, config.n_layers * config.n_heads
    return data.Generation(
        prompt=start,
        generated=history[len(start) :],
        steps=tuple(steps),
        stop=stop,
        final_length=last,
        work=data.GenerationWork(
            prefill_tokens=first,
            decode_tokens=last - first,
            layer_caches=layers,
            cache_appends=layers * last,
            qkv_projection_rows=3 * layers * last,
            cached_attention_scores=lanes * last * (last + 1) // 2,
            replayed_attention_scores=lanes * sum(s.prefix_length**2 for s in steps),
        ),
    )


def _exact(vocab_size: int, request: data.GenerationRequest) -> data.GenerationRequest:
    """The request in plain numbers; its first fault is raised instead."""
    eos, mode = request.eos_token, request.mode
    if eos is not None and not 0 <= (eos := integer(eos)) < vocab_size:
        raise errors.EosTokenOutOfRange(eos, vocab_size)
    if type(mode) not in {data.Greedy, data.TopK}:
        raise TypeError(f"a {type(mode).__name__} is no mode")
    if isinstance(mode, data.TopK):
        temperature: object = mode.temperature
        if not isinstance(temperature, Real):
            raise TypeError(f"a {type(temperature).__name__} is no real number")
        if not 0 < (number := exact_float(temperature)) < math.inf:
            raise errors.InvalidTemperature(temperature)
        mode = data.TopK(temperature=number, k=integer(mode.k))
        if not 1 <= mode.k <= vocab_size:
            raise errors.InvalidTopK(mode.k, vocab_size)
    if (budget := integer(request.max_new_tokens)) < 0:
        raise errors.InvalidBudget(budget)
    return data.GenerationRequest(mode=mode, eos_token=eos, max_new_tokens=budget)


def _step(read: Replay, mode: data.Mode, state: int) -> tuple[data.GenerationStep, int]:
    """One chosen token, and the generator's state after it."""
    length, logits = len(read.logits), read.logits[-1].tolist()
    ranked = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    if not isinstance(mode, data.TopK):
        return data.GenerationStep(length, ranked[0], None, 0.0, 1.0), state
    top, heat, weights = logits[ranked[0]], mode.temperature, dict[int, float]()
    total = excess = 0.0
    for i in ranked[: mode.k]:
        gap = (logits[i] - top) / heat if heat < 1 else logits[i] / heat - top / heat
        weights[i] = math.exp(gap)
        part = weights[i] - excess  # a Kahan sum, in rank order
        excess, total = (total + part - total) - part, total + part
    walk = sorted((i, w / total) for i, w in weights.items() if w / total > 0)
    state, draw = _unit_draw(state)
    end = 0.0
    while True:
        token_id, share = walk.pop(0)
        start, end = end, end + share if walk else 1.0
        if draw < end:
            return data.GenerationStep(length, token_id, draw, start, end), state


def _unit_draw(state: int) -> tuple[int, float]:
    """SplitMix64: the next state, and its draw in [0, 1)."""
    state = (state + 0x9E3779B97F4A7C15) % 2**64
    word = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return state, ((word ^ word >> 31) >> 11) * 2.0**-53
