"""What the usual checks see of a mutant: rules on logits, and the fixture's examples.

Each rule is given two runs. The usual one: a prompt of three tokens and five greedy
ones after it, on the model of the mutant's witness. And the witness itself, with the
decodes that end it: what the rule would see if somebody had thought of these calls.
A call that raises where it should answer, or generates other tokens, is seen by whoever
makes it. What raises nothing, and should, has no logits that anybody could compare.

Source:
    ``field_rules`` has the rules and where they come from.
"""

from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from engine import EngineError
from engine.arrays import Vector
from properties.anew import Anew
from properties.built_in import BuiltIn
from properties.calls import Call, Copy, Decode, NewCache, Prefill
from properties.chapter import run_chapter
from properties.drawn import initial_weights
from properties.field_rules import FIELD_RULES
from properties.injector import Injector
from properties.mutants import Mutant
from properties.plan import in_force
from properties.report import report
from properties.script import Script
from properties.subject import Make, Subject
from reference import replay

FIXTURE: Final = "fixture examples"
_PROMPT: Final = (0, 1, 0)
_N_GREEDY: Final = 5
_N_CLOSING: Final = 2


class Seen(NamedTuple):
    """Who sees a mutant.

    Attributes:
        usual: rules that reject the usual run
        witness: rules that reject the witness
    """

    usual: tuple[str, ...]
    witness: tuple[str, ...]


class _Came(NamedTuple):
    """What a call came to.

    Attributes:
        has_answered: and did not raise
        tokens: that it generated
        logits: if it gives any
    """

    has_answered: bool
    tokens: tuple[int, ...] = ()
    logits: Vector | None = None


def seen_of(mutant: Mutant) -> Seen:
    """The rules that see it, and the fixture's examples if they do."""
    if mutant.scene:
        return Seen((), ())  # whoever interrupts nothing sees nothing
    make, script = mutant.make(), mutant.witness
    by_fixture = (FIXTURE,) * (_report(mutant.suite()) != _true_report())
    usual = rejecting(make, _usual(script))
    return Seen((*usual, *by_fixture), rejecting(make, script))


def rejecting(make: Make, script: Script) -> tuple[str, ...]:
    """The rules that reject what an engine answers to a script."""
    pairs = list(zip(_run(BuiltIn, script), _run(make, script), strict=True))
    is_plain = any(
        due.has_answered and (not came.has_answered or due.tokens != came.tokens)
        for due, came in pairs
    )
    if is_plain:
        return tuple(FIELD_RULES)
    both = [
        (due.logits, came.logits)
        for due, came in pairs
        if due.logits is not None and came.logits is not None
    ]
    return tuple(
        name
        for name, rejects in FIELD_RULES.items()
        if any(
            rejects(*map(np.array, zip(*both[at:], strict=True)))
            for at in range(len(both))
        )
    )


def _usual(script: Script) -> Script:
    """The prompt, and the greedy tokens of the engine as it is."""
    config = replace(script.config, capacity=len(_PROMPT) + _N_GREEDY)
    weights = initial_weights(config, script.weights)
    prompt = tuple(token % config.vocab_size for token in _PROMPT)
    history = list(prompt)
    with suppress(EngineError):  # the weights may be too large for any answer
        for _ in range(_N_GREEDY):
            history.append(int(replay(config, weights, history).logits[-1].argmax()))
    calls: list[Call] = [Prefill(prompt=prompt)]
    calls += [Decode(token_id=token_id) for token_id in history[len(prompt) :]]
    return Script(config=config, weights=script.weights, calls=tuple(calls))


def _run(make: Make, script: Script) -> list[_Came]:
    """What each call comes to, and then two decodes on every cache."""
    weights = initial_weights(script.config, script.weights)
    subject, injector = make(script.config, weights, script.optimizer), Injector()
    if script.faults:
        subject.watch(injector)
    came = []
    for index, call in enumerate(script.calls):
        injector.begin(in_force(script.faults, index))
        came.append(_made(subject, call))
    injector.begin(None)
    n_caches = 1 + sum(isinstance(each, NewCache | Copy) for each in script.calls)
    closing = [Decode(cache=cache, token_id=0) for cache in range(n_caches)]
    return [*came, *(_made(subject, call) for call in _N_CLOSING * closing)]


def _made(subject: Subject, call: Call) -> _Came:
    try:
        answer = subject.perform(call)
    except Exception:  # noqa: BLE001 # any mutant may raise anything
        return _Came(has_answered=False)
    except KeyboardInterrupt:  # a planned one
        return _Came(has_answered=False)
    generation = answer.generation
    tokens = () if generation is None else generation.generated
    return _Came(has_answered=True, tokens=tokens, logits=answer.logits)


def _report(suite: Anew) -> str:
    """The chapter's report as an engine prints it, or what it raises instead."""
    try:
        chapter = suite.module("properties.chapter").run_chapter()
        text: str = suite.module("properties.report").report(chapter)
    except Exception as error:  # noqa: BLE001 # any mutant may raise anything
        return repr(error)
    return text


@cache
def _true_report() -> str:
    return report(run_chapter())
