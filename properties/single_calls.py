"""One call of each kind, drawn for the state that a model is in.

Each names only what exists in that state. Whether it is done or refused is drawn too:
whoever wants one of both for sure makes the call himself.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

import numpy as np
from hypothesis import strategies as st

from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Close,
    Copy,
    Decode,
    Flaw,
    Generate,
    NewCache,
    NewDecoder,
    NotFinite,
    Prefill,
    Reset,
    Sampling,
    Step,
    Train,
)
from properties.geometry import any_prompts, changes, prompts, strange_tokens, token_ids
from properties.model import Model

T = TypeVar("T")
CallMaker: TypeAlias = Callable[[st.DrawFn, Model], Call]
StepMaker: TypeAlias = Callable[[st.DrawFn, Model], Step | Train]

_AGES: Final = st.sampled_from((0, 0, 0, 1, 2))
_ONE_IN_FOUR: Final = st.sampled_from((False, False, False, True))
_WORDS: Final = st.integers(0, 2**64 - 1)
_LIMIT: Final = 2**64 - 1
_TAME: Final = 1e9
_WORKS: Final = st.tuples(
    *(6 * [st.sampled_from((0, 0, 0, 0, 1, _LIMIT - 3, _LIMIT - 1, _LIMIT))])
)
_STEP_SCALES: Final = st.sampled_from((1.0, 1e-3, 1e6))
_FLAWS: Final = (
    Flaw(kind="missing"),
    Flaw(kind="surplus"),
    Flaw(kind="shape"),
    Flaw(kind="nan"),
    Flaw(kind="overflow"),
    Flaw(kind="duplicate"),
    Flaw(kind="subset"),
)
_TEMPERATURES: Final = st.sampled_from((1.0, 0.5, 2.0, 1e-3))
_BAD_TEMPERATURES: Final[tuple[float | NotFinite, ...]] = (
    *(0.0, -1.0),
    *("inf", "-inf", "nan"),
)


def one_of(draw: st.DrawFn, items: Sequence[T]) -> T:
    """Any of the items; cheaper than a strategy of each example's own."""
    return items[draw(st.integers(0, len(items) - 1))]


def new_decoder(draw: st.DrawFn, model: Model) -> NewDecoder:
    """Of the same parameters, or with some of them, or all, rebuilt."""
    decoder = _decoder(draw, model)
    rebuilt = one_of(draw, ((), _some(draw, model), _all(model)))
    return NewDecoder(decoder=decoder, rebuilt=rebuilt)


def new_cache(draw: st.DrawFn, model: Model) -> NewCache:
    """One that begins its counters at 0."""
    return NewCache(decoder=_decoder(draw, model))


def nearly_worn_cache(draw: st.DrawFn, model: Model) -> NewCache:
    """One whose counters have room for a few rows, or for none."""
    return NewCache(decoder=_decoder(draw, model), work=draw(_WORKS))


def copy(draw: st.DrawFn, model: Model) -> Copy:
    """Of any cache, bound or not."""
    return Copy(cache=_cache(draw, model))


def bind(draw: st.DrawFn, model: Model) -> Bind:
    """Any cache to any decoder."""
    return Bind(cache=_cache(draw, model), decoder=_decoder(draw, model))


def bind_rebuilt(draw: st.DrawFn, model: Model) -> BindRebuilt:
    """To equal parameters, which is refused."""
    cache, decoder = _cache(draw, model), _decoder(draw, model)
    rebuilt = one_of(draw, (_some(draw, model), _all(model)))
    return BindRebuilt(cache=cache, decoder=decoder, rebuilt=rebuilt)


def bind_changed(draw: st.DrawFn, model: Model) -> BindChanged:
    """To another configuration, which is refused."""
    cache, decoder = _cache(draw, model), _decoder(draw, model)
    changed = draw(changes(model.decoders[decoder].config))
    return BindChanged(cache=cache, decoder=decoder, changes=changed)


def prefill(draw: st.DrawFn, model: Model) -> Prefill:
    """Any prompt on any session."""
    cache, age = _session(draw, model)
    prompt = draw(any_prompts(model.caches[cache].config))
    return Prefill(cache=cache, age=age, prompt=prompt)


def decode(draw: st.DrawFn, model: Model) -> Decode:
    """Any token on any session, most of them in the vocabulary."""
    cache, age = _session(draw, model)
    config = model.caches[cache].config
    tokens = strange_tokens(config) if draw(_ONE_IN_FOUR) else token_ids(config)
    return Decode(cache=cache, age=age, token_id=draw(tokens))


def reset(draw: st.DrawFn, model: Model) -> Reset:
    """Any session."""
    cache, age = _session(draw, model)
    return Reset(cache=cache, age=age)


def close(draw: st.DrawFn, model: Model) -> Close:
    """Any session, closed or not."""
    cache, age = _session(draw, model)
    return Close(cache=cache, age=age)


def good_step(draw: st.DrawFn, model: Model) -> Step:
    """One that only a borrow can forbid, or an earlier step on a subset."""
    decoder = _decoder(draw, model)
    return Step(decoder=decoder, seed=draw(_WORDS), scale=draw(_STEP_SCALES))


def flawed_step(draw: st.DrawFn, model: Model) -> Step:
    """One with something wrong, which a subset is only after the first step."""
    n_parameters = len(model.decoders[0].parameters)
    index = draw(st.integers(0, n_parameters - 1))
    flaw = one_of(draw, _FLAWS).model_copy(update={"index": index})
    return Step(decoder=_decoder(draw, model), seed=draw(_WORDS), flaw=flaw)


def step(draw: st.DrawFn, model: Model) -> Step:
    """With or without a flaw."""
    return one_of(draw, (good_step, flawed_step))(draw, model)


def good_train(draw: st.DrawFn, model: Model) -> Train:
    """One that only a borrow can forbid, or an earlier step on a subset."""
    decoder = _decoder(draw, model)
    config = model.decoders[decoder].config
    tokens, targets = draw(prompts(config)), draw(prompts(config))
    targets = (targets * len(tokens))[: len(tokens)]
    return Train(decoder=decoder, tokens=tokens, targets=targets)


def refused_train(draw: st.DrawFn, model: Model) -> Train:
    """Bad tokens, bad targets, or another number of them."""
    decoder = _decoder(draw, model)
    config = model.decoders[decoder].config
    bad, last = draw(any_prompts(config)), draw(strange_tokens(config))
    targets = one_of(draw, ((*bad, 0), (*bad[:-1], last)))
    return Train(decoder=decoder, tokens=bad, targets=targets)


def train(draw: st.DrawFn, model: Model) -> Train:
    """Good or not; never good where gradients may overflow, as no model foresees it."""
    is_tame = np.abs(next(iter(model.values.values()))).max() < _TAME
    return one_of(draw, (good_train, refused_train)[not is_tame :])(draw, model)


def good_generate(draw: st.DrawFn, model: Model) -> Generate:
    """Greedy or from the highest logits, to any of the three stops."""
    decoder = _decoder(draw, model)
    config = model.decoders[decoder].config
    n_tokens, prompt = config.vocab_size, draw(prompts(config))
    sampling = Sampling(
        temperature=draw(_TEMPERATURES), k=draw(st.integers(1, n_tokens))
    )
    room = config.capacity + 1 - len(prompt)
    return Generate(
        decoder=decoder,
        prompt=prompt,
        sampling=one_of(draw, (None, sampling)),
        eos_token=one_of(draw, (None, draw(token_ids(config)))),
        max_new_tokens=one_of(draw, (1, 0, 2, 3, room, room + 1)),
        rng_state=draw(_WORDS),
    )


def refused_generate(draw: st.DrawFn, model: Model) -> Generate:
    """One thing wrong in what would be a good one."""
    good = good_generate(draw, model)
    config = model.decoders[good.decoder].config
    strange = draw(strange_tokens(config))
    heat, k = (
        one_of(draw, _BAD_TEMPERATURES),
        one_of(draw, (0, config.vocab_size + 1, -1)),
    )
    one_wrong: tuple[dict[str, object], ...] = (
        {"prompt": draw(any_prompts(config)), "max_new_tokens": -1},
        {"eos_token": strange},
        {"sampling": Sampling(temperature=heat, k=1)},
        {"sampling": Sampling(temperature=1.0, k=k)},
        {"max_new_tokens": one_of(draw, (-1, True))},
    )
    return good.model_copy(update=one_of(draw, one_wrong))


def generate(draw: st.DrawFn, model: Model) -> Generate:
    """Good or not."""
    return one_of(draw, (good_generate, refused_generate))(draw, model)


def _decoder(draw: st.DrawFn, model: Model) -> int:
    return draw(st.integers(0, len(model.decoders) - 1))


def _cache(draw: st.DrawFn, model: Model) -> int:
    return draw(st.integers(0, len(model.caches) - 1))


def _session(draw: st.DrawFn, model: Model) -> tuple[int, int]:
    """A cache that was bound before, and how old the session is."""
    bound = [i for i, cache in enumerate(model.caches) if cache.sessions]
    cache = one_of(draw, bound)
    return cache, min(draw(_AGES), len(model.caches[cache].sessions) - 1)


def _some(draw: st.DrawFn, model: Model) -> tuple[int, ...]:
    """One parameter, or two."""
    last = len(model.decoders[0].parameters) - 1
    return tuple(sorted({draw(st.integers(0, last)), draw(st.integers(0, last))}))


def _all(model: Model) -> tuple[int, ...]:
    return tuple(range(len(model.decoders[0].parameters)))
