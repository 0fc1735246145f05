"""Generation: one prefill, then only the decodes that are needed."""

import math
from collections.abc import Callable, Iterable
from functools import partial
from numbers import Real
from typing import Final, SupportsIndex

from engine.cache import KVCache
from engine.config import DecoderConfig, exact_float
from engine.decoder import Decoder
from engine.errors import (
    EosTokenOutOfRange,
    InvalidBudget,
    InvalidTemperature,
    InvalidTopK,
)
from engine.kinds import require_kind
from engine.request import (
    Generation,
    GenerationRequest,
    GenerationStep,
    GenerationWork,
    Greedy,
    HasState,
    Mode,
    TopK,
)
from engine.sampling import choose
from engine.session import DecoderSession
from engine.splitmix import SplitMix64, state_of
from engine.stages import Probe
from engine.tokens import exact_prompt, exact_token, read_prompt, require_fit
from engine.undo import or_undo
from engine.work import Work

EOS: Final = "eos"
TOKEN_LIMIT: Final = "token-limit"  # noqa: S105 # the token is a word, not a secret
CONTEXT_LIMIT: Final = "context-limit"


def generate(
    decoder: Decoder,
    prompt: Iterable[SupportsIndex],
    request: GenerationRequest,
    rng: HasState,
    probe: Probe | None = None,
) -> Generation:
    """Choose tokens after a prompt, with a cache of its own.

    Args:
        decoder: is borrowed while tokens are chosen
        prompt: token IDs, at least 1 and at most ``capacity``
        request: how to choose, and when to stop
        rng: advances once, at the end, by one draw for every token of ``TopK``
        probe: of the session in which tokens are chosen, as ``KVCache.bind`` takes it

    Raises:
        RequestError: the prompt or the request is out of range; nothing changed.
        TypeError: a token, limit or mode is of no type that fits; nothing changed.
        StageFailed: a computation failed; ``rng`` and the decoder are as they were.
        BindingError: an optimizer step came in between; ``rng`` is as it was.
    """
    require_kind(decoder, Decoder)
    require_kind(request, GenerationRequest)
    config = decoder.config
    tokens = read_prompt(prompt, config.capacity)
    require_fit(tokens, config.capacity, prompt)
    token_ids = exact_prompt(tokens, config.vocab_size)
    exact = _exact_request(request, config)
    if exact.max_new_tokens == 0:
        return _generation(config, token_ids, (), TOKEN_LIMIT, Work())

    stream = SplitMix64(state_of(rng))
    cache = KVCache(decoder)
    bind = partial(cache.bind, decoder, probe)
    steps, stop = _choose_all(bind, token_ids, exact, stream)
    generation = _generation(config, token_ids, tuple(steps), stop, cache.work)
    rng.state = stream.state
    return generation


def _choose_all(
    bind: Callable[[], DecoderSession],
    token_ids: tuple[int, ...],
    request: GenerationRequest,
    stream: SplitMix64,
) -> tuple[list[GenerationStep], str]:
    """The steps, and why they stopped; whatever happens, no borrow is left."""
    # No ``with``: interrupted on its way out, it would leave the session open for as
    # long as the traceback is kept.
    opened: list[DecoderSession] = []

    def choose_and_close() -> tuple[list[GenerationStep], str]:
        opened.append(bind())
        chosen = _choose_in(opened[0], token_ids, request, stream)
        opened[0].close()
        return chosen

    def close() -> None:
        for session in opened:
            session.close()

    return or_undo(choose_and_close, close)


def _choose_in(
    session: DecoderSession,
    token_ids: tuple[int, ...],
    request: GenerationRequest,
    stream: SplitMix64,
) -> tuple[list[GenerationStep], str]:
    steps: list[GenerationStep] = []
    output = session.prefill(token_ids)
    while True:
        choice = choose(output.logits, request.mode, stream)
        step = GenerationStep(prefix_length=output.length, **choice._asdict())
        steps.append(step)
        if choice.token_id == request.eos_token:
            return steps, EOS
        if len(steps) == request.max_new_tokens:
            return steps, TOKEN_LIMIT
        if session.cache.is_full:
            return steps, CONTEXT_LIMIT
        output = session.decode(choice.token_id)


def _generation(
    config: DecoderConfig,
    prompt: tuple[int, ...],
    steps: tuple[GenerationStep, ...],
    stop: str,
    work: Work,
) -> Generation:
    squares = sum(step.prefix_length**2 for step in steps)
    return Generation(
        prompt=prompt,
        generated=tuple(step.token_id for step in steps),
        steps=steps,
        stop=stop,
        final_length=steps[-1].prefix_length if steps else 0,
        work=GenerationWork(
            prefill_tokens=work.prefill_tokens,
            decode_tokens=work.decode_tokens,
            layer_caches=config.n_layers,
            cache_appends=work.cache_appends,
            qkv_projection_rows=work.qkv_projection_rows,
            cached_attention_scores=work.attention_scores,
            replayed_attention_scores=config.n_layers * config.n_heads * squares,
        ),
    )


def _exact_request(
    request: GenerationRequest, config: DecoderConfig
) -> GenerationRequest:
    """The request in plain numbers, judged field by field."""
    eos_token = request.eos_token
    if eos_token is not None:
        eos_token = exact_token(eos_token)
        if not 0 <= eos_token < config.vocab_size:
            raise EosTokenOutOfRange(eos_token, config.vocab_size)
    mode = _exact_mode(request.mode, config.vocab_size)
    budget = exact_token(request.max_new_tokens)
    if budget < 0:
        raise InvalidBudget(budget)
    return GenerationRequest(mode=mode, eos_token=eos_token, max_new_tokens=budget)


def _exact_mode(mode: object, vocab_size: int) -> Mode:
    require_kind(mode, Greedy, TopK)
    match mode:
        case TopK():
            temperature = _exact_temperature(mode.temperature)
            k = exact_token(mode.k)
            if not 1 <= k <= vocab_size:
                raise InvalidTopK(k, vocab_size)
            return TopK(temperature=temperature, k=k)
        case _:
            return Greedy()


def _exact_temperature(value: object) -> float:
    if not isinstance(value, Real):
        message = f"a temperature is a real number, not {type(value).__name__}"
        raise TypeError(message)
    temperature = exact_float(value)  # NaN where no finite float is as large, or bool
    if not 0 < temperature < math.inf:
        raise InvalidTemperature(value)
    return temperature
