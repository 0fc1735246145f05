"""One call of each kind that is about a decoder alone: steps, training, generations."""

from collections.abc import Callable
from random import Random
from typing import Final, TypeAlias

from properties.calls import Flaw, Generate, NotFinite, Sampling, Step, Train
from properties.geometry import (
    bad_prompts,
    good_prompt,
    strange_token,
)
from properties.model import Model
from properties.single_calls import any_decoder

StepMaker: TypeAlias = Callable[[Random, Model], Step | Train]

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


def good_step(rng: Random, model: Model) -> Step:
    """One that only a borrow can forbid, or an earlier step on a subset."""
    decoder = any_decoder(rng, model)
    return Step(
        decoder=decoder, seed=rng.getrandbits(64), scale=rng.choice((1.0, 1e-3, 1e6))
    )


def flawed_step(rng: Random, model: Model) -> Step:
    """One with something wrong, which a subset is only after the first step."""
    index = rng.randrange(len(model.decoders[0].parameters))
    flaw = rng.choice(_FLAWS).model_copy(update={"index": index})
    return Step(decoder=any_decoder(rng, model), seed=rng.getrandbits(64), flaw=flaw)


def subset_step(rng: Random, model: Model) -> Step:
    """One that leaves a parameter out, as a first step may."""
    index = rng.randrange(len(model.decoders[0].parameters))
    flaw = Flaw(kind="subset", index=index)
    return good_step(rng, model).model_copy(update={"flaw": flaw})


def step(rng: Random, model: Model) -> Step:
    """With or without a flaw."""
    return rng.choice((good_step, flawed_step))(rng, model)


def good_train(rng: Random, model: Model) -> Train:
    """One that only a borrow can forbid, or an earlier step on a subset."""
    decoder = any_decoder(rng, model)
    config = model.decoders[decoder].config
    tokens, targets = good_prompt(rng, config), good_prompt(rng, config)
    targets = (targets * len(tokens))[: len(tokens)]
    return Train(decoder=decoder, tokens=tokens, targets=targets)


def refused_train(rng: Random, model: Model) -> Train:
    """Bad tokens, or targets that are, or another number of them."""
    decoder = any_decoder(rng, model)
    config = model.decoders[decoder].config
    tokens = rng.choice((good_prompt(rng, config), *bad_prompts(rng, config)))
    strange = (strange_token(rng, config),)
    last = strange, strange, (), (0, 0)
    return Train(
        decoder=decoder, tokens=tokens, targets=(*tokens[1:], *rng.choice(last))
    )


def train(rng: Random, model: Model) -> Train:
    """Good or not; a good one takes as long as ten others."""
    makers = good_train, refused_train, refused_train, refused_train
    return rng.choice(makers)(rng, model)


def good_generate(rng: Random, model: Model) -> Generate:
    """Greedy or from the highest logits, to any of the three stops."""
    decoder = any_decoder(rng, model)
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
    """One thing wrong in what would be a good one, or several: the first decides."""
    good = good_generate(rng, model)
    config = model.decoders[good.decoder].config
    k = rng.choice((0, config.vocab_size + 1))
    cold, strange = rng.choice(_BAD_TEMPERATURES), strange_token(rng, config)
    bad_prompt: dict[str, object] = {"prompt": rng.choice(bad_prompts(rng, config))}
    wrongs: list[dict[str, object]] = [
        *(3 * [bad_prompt]),
        {**bad_prompt, "max_new_tokens": -1},
        {"eos_token": strange},
        {"eos_token": strange, "sampling": Sampling(temperature=cold, k=k)},
        {"sampling": Sampling(temperature=cold, k=rng.choice((1, k)))},
        {"sampling": Sampling(temperature=1.0, k=k)},
        {"sampling": Sampling(temperature=1.0, k=k), "max_new_tokens": -1},
        {"max_new_tokens": rng.choice((-1, -2, True))},
    ]
    return good.model_copy(update=rng.choice(wrongs))


def generate(rng: Random, model: Model) -> Generate:
    """Good or not."""
    return rng.choice((good_generate, refused_generate))(rng, model)
