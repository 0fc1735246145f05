"""The machine makes scripts that name what exists, and reach what they are for."""

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, get_args

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from engine import EngineError
from properties.calls import Call, Decode
from properties.drawn import initial_weights
from properties.geometry import configs
from properties.judge import Verdict
from properties.machine import SessionMachine
from properties.model import Model
from properties.plan import in_force, make_on
from properties.plugin import PROFILES
from properties.reachable import (
    MAX_CACHES,
)
from properties.record import Seen
from properties.script import Fault, Script

# The same scripts in every run, so that no count can flake.
MAKING: Final = settings(
    PROFILES["default"].machine,
    database=None,
    derandomize=True,
    max_examples=250,
    phases=[Phase.generate],
    stateful_step_count=12,
)


@functools.cache
def scripts() -> Sequence[Script]:
    """What the machine hands to a judge who is content with everything."""
    made = list[Script]()

    def judged(script: Script) -> Verdict:
        made.append(script)
        seen = tuple(Seen(call, "done", "", "", 0, 0.0) for call in script.calls)
        return Verdict(seen=seen, closing=(), digest="", n_unsure=0, n_skipped=0)

    run_state_machine_as_test(
        lambda: SessionMachine(judged, configs()),  # type: ignore[arg-type] # any maker will do
        settings=MAKING,
    )
    return made


def played(script: Script) -> Iterator[tuple[Model, Call, str]]:
    """The model after each call, and the refusal that it met, if any."""
    model = Model(script.config, initial_weights(script.config, script.weights))
    for index, call in enumerate(script.calls):
        fault = in_force(script.faults, index)
        yield model, call, refusal_of(model, call, fault)


def refusal_of(model: Model, call: Call, fault: Fault | None) -> str:
    try:
        make_on(model, call, fault)
    except (EngineError, TypeError) as refusal:
        return type(refusal).__name__
    return ""


def test_scripts_name_what_exists() -> None:
    """Else the model says ``ScriptRejected``, which nothing here catches."""
    assert all(list(played(script)) for script in scripts())


def test_scripts_survive_as_text() -> None:
    longest = max(scripts(), key=lambda script: len(script.calls))

    assert Script.model_validate_json(longest.model_dump_json()) == longest


def test_scripts_have_every_call_after_every_other() -> None:
    pairs = {
        (type(first), type(second))
        for script in scripts()
        for first, second in zip(script.calls, script.calls[1:], strict=False)
    }
    kinds = get_args(Call)

    assert [(a, b) for a in kinds for b in kinds if (a, b) not in pairs] == []


SEQUENTIAL: Final = {
    "CacheFull",
    "CacheInUse",
    "ConfigMismatch",
    "DecodeRequiresPrefill",
    "DecodeTokenOutOfRange",
    "DuplicateParameter",
    "EmptyPrompt",
    "GradientMismatch",
    "NonFiniteUpdate",
    "ParameterBorrowed",
    "ParameterMismatch",
    "ParameterRevisionMismatch",
    "ParameterSetChanged",
    "PrefillRequiresEmpty",
    "PromptTokenOutOfRange",
    "PromptTooLong",
    "SessionClosed",
    "TargetCountMismatch",
    "TargetOutOfRange",
    "TypeError",
    "WorkOverflow",
}
"""What calls one after the other are refused with, but for generations."""


def test_scripts_meet_every_refusal() -> None:
    met = Counter(name for script in scripts() for _, _, name in played(script))

    assert set(met) - {""} == SEQUENTIAL


def test_scripts_reach_the_capacity_exactly_in_every_tenth_or_more() -> None:
    full = [
        any(
            cache.length == script.config.capacity
            for model, _, _ in played(script)
            for cache in model.caches
        )
        for script in scripts()
    ]

    assert sum(full) >= len(full) / 10


def test_scripts_have_few_caches() -> None:
    """A turn may begin with one too few, and make some."""
    n_caches = [list(played(script))[-1][0].caches for script in scripts()]

    assert max(map(len, n_caches)) <= 2 * MAX_CACHES


def test_scripts_have_two_sessions_on_one_decoder_in_turn() -> None:
    in_turn = [
        (first, second)
        for script in scripts()
        for first, second in zip(script.calls, script.calls[1:], strict=False)
        if isinstance(first, Decode) and isinstance(second, Decode)
        if first.cache != second.cache
    ]

    assert len(in_turn) >= len(scripts()) / 4
