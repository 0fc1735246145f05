"""One call of each kind, drawn for the state that a model is in.

Each names only what exists in that state. Whether it is done or refused is drawn too:
whoever wants one of both for sure makes the call himself.
"""

from collections.abc import Callable
from random import Random
from typing import Final, TypeAlias

import numpy as np
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
from properties.geometry import (
    any_prompt,
    bad_prompt,
    changes,
    good_prompt,
    strange_token,
    token,
)
from properties.model import Model

CallMaker: TypeAlias = Callable[[Random, Model], Call]
StepMaker: TypeAlias = Callable[[Random, Model], Step | Train]

_LIMIT: Final = 2**64 - 1
_COUNTS: Final = (0, 0, 0, 0, 1, _LIMIT - 3, _LIMIT - 1, _LIMIT)
_TAME: Final = 1e9
_AGES: Final = (0, 0, 0, 1, 2)
_FLAWS: Final = (
    Flaw(kind="missing"),
    Flaw(kind="surplus"),
    Flaw(kind="shape"),
    Flaw(kind="nan"),
    Flaw(kind="overflow"),
    Flaw(kind="duplicate"),
    Flaw(kind="subset"),
)
_TEMPERATURES: Final = (1.0, 0.5, 2.0, 1e-3)
_BAD_TEMPERATURES: Final[tuple[float | NotFinite, ...]] = (
    *(0.0, -1.0),
    *("inf", "-inf", "nan"),
)


def new_decoder(rng: Random, model: Model) -> NewDecoder:
    """Of the same parameters, or with some of them, or all, rebuilt."""
    decoder, rebuilt = _decoder(rng, model), rng.choice(_REBUILDS)
    return NewDecoder(decoder=decoder, rebuilt=rebuilt(rng, model))


def new_cache(rng: Random, model: Model) -> NewCache:
    """One that begins its counters at 0."""
    return NewCache(decoder=_decoder(rng, model))


def nearly_worn_cache(rng: Random, model: Model) -> NewCache:
    """One whose counters have room for a few rows, or for none."""
    counts = tuple(rng.choices(_COUNTS, k=6))
    return NewCache(decoder=_decoder(rng, model), work=counts)


def copy(rng: Random, model: Model) -> Copy:
    """Of any cache, bound or not."""
    return Copy(cache=_cache(rng, model))


def bind(rng: Random, model: Model) -> Bind:
    """Any cache to any decoder."""
    return Bind(cache=_cache(rng, model), decoder=_decoder(rng, model))


def bind_rebuilt(rng: Random, model: Model) -> BindRebuilt:
    """To equal parameters, which is refused."""
    cache, decoder = _cache(rng, model), _decoder(rng, model)
    rebuilt = rng.choice(_REBUILDS[1:])(rng, model)
    return BindRebuilt(cache=cache, decoder=decoder, rebuilt=rebuilt)


def bind_changed(rng: Random, model: Model) -> BindChanged:
    """To another configuration, which is refused."""
    cache, decoder = _cache(rng, model), _decoder(rng, model)
    changed = rng.choice(changes(model.decoders[decoder].config))
    return BindChanged(cache=cache, decoder=decoder, changes=changed)


def prefill(rng: Random, model: Model) -> Prefill:
    """Any prompt on any session."""
    cache, age = _session(rng, model)
    prompt = any_prompt(rng, model.caches[cache].config)
    return Prefill(cache=cache, age=age, prompt=prompt)


def decode(rng: Random, model: Model) -> Decode:
    """Any token on any session, most of them in the vocabulary."""
    cache, age = _session(rng, model)
    config = model.caches[cache].config
    makers = token, token, token, strange_token
    return Decode(cache=cache, age=age, token_id=rng.choice(makers)(rng, config))


def reset(rng: Random, model: Model) -> Reset:
    """Any session."""
    cache, age = _session(rng, model)
    return Reset(cache=cache, age=age)


def close(rng: Random, model: Model) -> Close:
    """Any session, closed or not."""
    cache, age = _session(rng, model)
    return Close(cache=cache, age=age)


def good_step(rng: Random, model: Model) -> Step:
    """One that only a borrow can forbid, or an earlier step on a subset."""
    decoder = _decoder(rng, model)
    return Step(
        decoder=decoder, seed=rng.getrandbits(64), scale=rng.choice((1.0, 1e-3, 1e6))
    )


def flawed_step(rng: Random, model: Model) -> Step:
    """One with something wrong, which a subset is only after the first step."""
    n_parameters = len(model.decoders[0].parameters)
    index = rng.randrange(n_parameters)
    flaw = rng.choice(_FLAWS).model_copy(update={"index": index})
    return Step(decoder=_decoder(rng, model), seed=rng.getrandbits(64), flaw=flaw)


def step(rng: Random, model: Model) -> Step:
    """With or without a flaw."""
    return rng.choice((good_step, flawed_step))(rng, model)


def good_train(rng: Random, model: Model) -> Train:
    """One that only a borrow can forbid, or an earlier step on a subset."""
    decoder = _decoder(rng, model)
    config = model.decoders[decoder].config
    tokens, targets = good_prompt(rng, config), good_prompt(rng, config)
    targets = (targets * len(tokens))[: len(tokens)]
    return Train(decoder=decoder, tokens=tokens, targets=targets)


def refused_train(rng: Random, model: Model) -> Train:
    """Bad tokens, or targets that are, or another number of them."""
    decoder = _decoder(rng, model)
    config = model.decoders[decoder].config
    tokens = any_prompt(rng, config)
    last = (), (strange_token(rng, config),), (0, 0)
    return Train(
        decoder=decoder, tokens=tokens, targets=(*tokens[1:], *rng.choice(last))
    )


def train(rng: Random, model: Model) -> Train:
    """Good or not; never good where gradients may overflow, as no model foresees it."""
    is_tame = np.abs(next(iter(model.values.values()))).max() < _TAME
    return rng.choice((good_train, refused_train)[not is_tame :])(rng, model)


def good_generate(rng: Random, model: Model) -> Generate:
    """Greedy or from the highest logits, to any of the three stops."""
    decoder = _decoder(rng, model)
    config = model.decoders[decoder].config
    prompt, k = good_prompt(rng, config), rng.randint(0, config.vocab_size)
    room = config.capacity + 1 - len(prompt)
    return Generate(
        decoder=decoder,
        prompt=prompt,
        sampling=Sampling(temperature=rng.choice(_TEMPERATURES), k=k) if k else None,
        eos_token=rng.choice((None, None, *range(config.vocab_size))),
        max_new_tokens=rng.choice((1, 0, 2, 3, room, room + 1)),
        rng_state=rng.getrandbits(64),
    )


def refused_generate(rng: Random, model: Model) -> Generate:
    """One thing wrong, at least, in what would be a good one."""
    good = good_generate(rng, model)
    config = model.decoders[good.decoder].config
    wrong = rng.choice(("prompt", "eos", "temperature", "k", "budget"))
    changed: dict[str, object] = {}
    match wrong:
        case "prompt":
            changed["prompt"] = bad_prompt(rng, config)
        case "eos":
            changed["eos_token"] = strange_token(rng, config)
        case "temperature":
            heat = rng.choice(_BAD_TEMPERATURES)
            changed["sampling"] = Sampling(temperature=heat, k=1)
        case "k":
            k = rng.choice((0, config.vocab_size + 1))
            changed["sampling"] = Sampling(temperature=1.0, k=k)
        case "budget":
            changed["max_new_tokens"] = rng.choice((-1, True))
    return good.model_copy(update=changed)


def generate(rng: Random, model: Model) -> Generate:
    """Good or not."""
    return rng.choice((good_generate, refused_generate))(rng, model)


def _decoder(rng: Random, model: Model) -> int:
    return rng.choice(range(len(model.decoders)))


def _cache(rng: Random, model: Model) -> int:
    return rng.choice(range(len(model.caches)))


def _session(rng: Random, model: Model) -> tuple[int, int]:
    """A cache that was bound before, and how old the session is."""
    bound = [i for i, cache in enumerate(model.caches) if cache.sessions]
    cache = rng.choice(bound)
    return cache, min(rng.choice(_AGES), len(model.caches[cache].sessions) - 1)


def _none(_rng: Random, _model: Model) -> tuple[int, ...]:
    return ()


def _some(rng: Random, model: Model) -> tuple[int, ...]:
    """One parameter, or two."""
    last = len(model.decoders[0].parameters) - 1
    return tuple(sorted({rng.randint(0, last), rng.randint(0, last)}))


def _all(_rng: Random, model: Model) -> tuple[int, ...]:
    return tuple(range(len(model.decoders[0].parameters)))


_REBUILDS: Final = (_none, _some, _all)
