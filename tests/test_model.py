"""The model of a run: what does not exist is no refusal, and changes nothing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from engine import (
    CacheInUse,
    ConfigMismatch,
    EmptyPrompt,
    NonFiniteUpdate,
    ParameterBorrowed,
    ParameterMismatch,
    ParameterRevisionMismatch,
    SessionClosed,
    Work,
)
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Changes,
    Close,
    Copy,
    Decode,
    Flaw,
    Generate,
    NewCache,
    NewDecoder,
    Prefill,
    Reset,
    Step,
    Train,
)
from properties.drawn import initial_weights
from properties.model import Model
from properties.script import ScriptRejected, Weights
from tests.models import ADAMW, TINY
from tests.nameless import MISSING, N_PARAMETERS

ZERO_EPSILON: Final = replace(TINY, rms_epsilon=0.0)


def model_after(*calls: Call) -> Model:
    model = Model(TINY, initial_weights(TINY, Weights(seed=38)))
    for call in calls:
        model.perform(call)
    return model


def everything(model: Model) -> tuple[object, ...]:
    caches = [
        (
            each.content,
            each.parameters,
            each.revisions,
            [session.is_open for session in each.sessions],
        )
        for each in model.caches
    ]
    held = {each: None for owner in model.decoders for each in owner.parameters}
    values = [(each.revision, model.values[each].tobytes()) for each in held]
    optimizer = model.optimizer.n_steps, sorted(model.optimizer.moments)
    return [*model.decoders], caches, values, optimizer, len(model.weights_of)


@pytest.mark.parametrize(("call", "says"), MISSING.values(), ids=MISSING)
def test_what_does_not_exist_is_rejected_and_changes_nothing(
    call: Call, says: str
) -> None:
    model = model_after()
    before = everything(model)

    with pytest.raises(ScriptRejected, match=says):
        model.perform(call)
    assert everything(model) == before


REFUSED: Final[dict[str, tuple[Call, type[Exception]]]] = {
    "prefill": (Prefill(prompt=()), EmptyPrompt),
    "bind": (Bind(), CacheInUse),
    "twin": (BindRebuilt(rebuilt=(2,)), ParameterMismatch),
    "change": (BindChanged(changes=Changes(d_ff=2)), ConfigMismatch),
    "step": (Step(), ParameterBorrowed),
    "flaw": (Step(flaw=Flaw(kind="overflow", index=3)), NonFiniteUpdate),
    "loss": (Train(tokens=(), targets=()), EmptyPrompt),
    "train": (Train(tokens=(0,), targets=(0,)), ParameterBorrowed),
}


@pytest.mark.parametrize(("call", "error"), REFUSED.values(), ids=REFUSED)
def test_refused_call_changes_nothing(call: Call, error: type[Exception]) -> None:
    model = model_after(Prefill(prompt=(0,))) if error is CacheInUse else model_after()
    before = everything(model)

    with pytest.raises(error):
        model.perform(call)
    assert everything(model) == before


def test_changed_sign_of_a_zero_is_a_change() -> None:
    model = Model(ZERO_EPSILON, initial_weights(ZERO_EPSILON, Weights(seed=38)))

    with pytest.raises(ConfigMismatch):
        model.perform(BindChanged(changes=Changes(rms_epsilon=-0.0)))


def test_first_cache_is_bound_to_the_first_decoder() -> None:
    model = model_after()

    assert len(model.decoders) == len(model.caches) == len(model.caches[0].sessions)
    assert model.caches[0].is_bound
    assert model.decoders[0].config == TINY


def test_rebuilt_parameters_are_others_of_the_same_values() -> None:
    model = model_after(NewDecoder(rebuilt=(1, 1)))
    old, new = (each.parameters for each in model.decoders)
    shared = [a is b for a, b in zip(old, new, strict=True)]

    assert shared == [index != 1 for index in range(N_PARAMETERS)]
    assert model.values[old[1]] is model.values[new[1]]
    assert old[1].name == new[1].name


def test_calls_go_to_the_cache_and_the_session_that_they_name() -> None:
    model = model_after(
        Prefill(prompt=(0,)),
        Copy(),
        NewCache(work=(1, 2, 3, 4, 5, 6)),
        Bind(cache=1),
        Decode(cache=1, token_id=1),
        Close(cache=1),
        Bind(cache=1),
    )

    assert [each.content.history for each in model.caches] == [(0,), (0, 1), ()]
    assert model.caches[2].work == Work(1, 2, 3, 4, 5, 6)
    assert [each.is_open for each in model.caches[1].sessions] == [False, True]
    with pytest.raises(SessionClosed):
        model.perform(Reset(cache=1, age=1))


def test_step_replaces_what_decoders_share_and_makes_its_caches_stale() -> None:
    model = model_after(NewDecoder(rebuilt=(0,)), NewCache(decoder=1), Close())
    first = model.decoders[0].parameters[0], model.decoders[1].parameters[0]
    before = [model.values[each] for each in first]
    model.perform(Step(decoder=1, seed=1))

    assert (first[0].revision, first[1].revision) == (0, 1)
    assert model.values[first[0]] is before[0]
    assert (model.values[first[1]] != before[1]).all()
    assert [each.is_stale for each in model.caches] == [True, True]
    with pytest.raises(ParameterRevisionMismatch):
        model.perform(Bind())


def test_step_is_free_once_every_cache_of_a_parameter_is_closed() -> None:
    model = model_after(NewDecoder(rebuilt=tuple(range(N_PARAMETERS))))
    model.perform(Step(decoder=1))
    with pytest.raises(ParameterBorrowed):
        model.perform(Step())

    model.perform(Close())
    model.perform(Step())

    assert model.optimizer.n_steps == 2


def test_cache_keeps_the_weights_that_it_was_made_with() -> None:
    model = model_after(Close())
    old = model.weights(0)
    model.perform(Step())
    model.perform(NewCache())
    model.perform(Copy())

    assert bits(model.weights_of) == bits([old, model.weights(0), old])


def bits(weights: Sequence[object]) -> list[str]:
    return [repr(each) for each in weights]


def test_training_steps_on_the_gradients_that_are_given() -> None:
    decayed, trained = model_after(Close()), model_after(Close())
    call = Train(tokens=(0,), targets=(1,))
    ones = [np.ones_like(value) for value in trained.values.values()]
    decayed.perform(call)
    trained.perform(call, ones)
    seconds = [
        [second.max() for _, second in each.optimizer.moments.values()]
        for each in (decayed, trained)
    ]

    assert seconds == [N_PARAMETERS * [0.0], N_PARAMETERS * [1 - 0.999]]


def test_optimizer_has_the_constants_that_are_given() -> None:
    model = Model(TINY, initial_weights(TINY, Weights(seed=38)), ADAMW)

    assert (model.optimizer.rate, model.optimizer.decay) == (0.01, 0.1)
    assert model.optimizer.betas == (0.9, 0.999)


def test_generation_leaves_nothing() -> None:
    model = model_after()
    before = everything(model)
    model.perform(Generate(prompt=(0,), max_new_tokens=2))

    assert everything(model) == before
