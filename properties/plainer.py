"""Scripts on smaller and plainer decoders."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields, replace
from typing import Final, TypeAlias

from engine import AdamWConfig, DecoderConfig, InvalidConfig, InvalidOptimizerConfig
from properties.fewer import without_calls
from properties.lesser import lesser_records, numbers
from properties.resized import prompt_of, shortened, with_blocks, with_vocabulary
from properties.script import LARGE_STEP, Script, Weights

Part: TypeAlias = Callable[[Script], Script]

PLAIN: Final[Mapping[str, object]] = {
    "rope_base": 10_000.0,
    "rms_epsilon": 1e-6,
    "dtype": "float64",
}


def plainest(script: Script) -> Iterator[Script]:
    """With all that is about the decoder plain and small."""
    yield _applied(script, _PARTS)


def plain(script: Script) -> Iterator[Script]:
    """The same but for one part of it; and one part alone."""
    for part in _PARTS:
        yield _applied(script, tuple(each for each in _PARTS if each is not part))
    for part in _PARTS:
        yield part(script)


def plainer_constants(script: Script) -> Iterator[Script]:
    """With one constant, of the decoder or the optimizer, plain; or other weights."""
    for field, value in PLAIN.items():
        yield from _with_sizes(script, {field: value})
    yield script.model_copy(update={"optimizer": LARGE_STEP})
    for each in fields(AdamWConfig):
        update = {each.name: getattr(LARGE_STEP, each.name)}
        try:
            optimizer = AdamWConfig(**{**asdict(script.optimizer), **update})
        except InvalidOptimizerConfig:
            continue
        yield script.model_copy(update={"optimizer": optimizer})
    for weights in lesser_records(script.weights, script.config.vocab_size):
        yield script.model_copy(update={"weights": weights})


def fewer_features(script: Script) -> Iterator[Script]:
    """With fewer heads, of the same width or not, narrower ones, or fewer hidden."""
    config = script.config
    for n_heads in range(1, config.n_heads + 1):
        shared = [n for n in range(1, config.n_kv_heads + 1) if n_heads % n == 0]
        for n_kv_heads in shared:
            for d_model in (n_heads * config.head_dim, config.d_model):
                sizes = {
                    "n_heads": n_heads,
                    "n_kv_heads": n_kv_heads,
                    "d_model": d_model,
                }
                yield from _with_sizes(script, sizes)
    for half in numbers(config.head_dim // 2):
        yield from _with_sizes(script, {"d_model": 2 * half * config.n_heads})
    for d_ff in numbers(config.d_ff):
        yield from _with_sizes(script, {"d_ff": d_ff})


def fewer_blocks(script: Script) -> Iterator[Script]:
    """What was about a block that goes is then about the last one."""
    for n_layers in numbers(script.config.n_layers):
        yield with_blocks(script, n_layers)
        yield from _with_sizes(script, {"n_layers": n_layers})


def fewer_tokens_known(script: Script) -> Iterator[Script]:
    """With a smaller vocabulary; tokens keep their kind, or stay as they are."""
    for vocab_size in numbers(script.config.vocab_size):
        if vocab_size:
            yield with_vocabulary(script, vocab_size)
            yield from _with_sizes(script, {"vocab_size": vocab_size})


def less_capacity(script: Script) -> Iterator[Script]:
    """And prompts shorter by as much, or none, or one call or one token fewer."""
    capacity = script.config.capacity
    for less in numbers(capacity):
        if less:
            yield from _with_sizes(
                _all_shortened(script, capacity - less), {"capacity": less}
            )
            yield from _with_sizes(script, {"capacity": less})
    if capacity == 1:
        return
    for index in reversed(range(len(script.calls))):
        for fewer in (without_calls(script, {index}), shortened(script, index)):
            yield from _with_sizes(fewer, {"capacity": capacity - 1})


def _applied(script: Script, parts: tuple[Part, ...]) -> Script:
    for part in parts:
        script = part(script)
    return script


def _constants(script: Script) -> Script:
    plainest = script.model_copy(update={"optimizer": LARGE_STEP})
    return next(_with_sizes(plainest, PLAIN), plainest)


def _weights(script: Script) -> Script:
    return script.model_copy(update={"weights": Weights(seed=0)})


def _widths(script: Script) -> Script:
    config = replace(script.config, d_model=2, n_heads=1, n_kv_heads=1, d_ff=1)
    return script.model_copy(update={"config": config})


def _vocabulary(script: Script) -> Script:
    return with_vocabulary(script, min(2, script.config.vocab_size))


def _blocks(script: Script) -> Script:
    return with_blocks(script, min(1, script.config.n_layers))


_PARTS: Final[tuple[Part, ...]] = _constants, _weights, _widths, _vocabulary, _blocks


def _with_sizes(script: Script, sizes: Mapping[str, object]) -> Iterator[Script]:
    """With other sizes, if they make a configuration."""
    try:
        config = DecoderConfig(**{**asdict(script.config), **sizes})
    except InvalidConfig:
        return
    if config != script.config:
        yield script.model_copy(update={"config": config})


def _all_shortened(script: Script, n_tokens: int) -> Script:
    """Every prompt by so many tokens, but for one; what is empty stays so."""
    for index, call in enumerate(script.calls):
        length = len(prompt_of(call))
        script = shortened(
            script, index, range(max(min(1, length), length - n_tokens), length)
        )
    return script
