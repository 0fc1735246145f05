"""A failure is told as a short program, which fails so too, and passes if all is right.

Here programs run in this process, on engines that are patched.
"""

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

import engine
from engine import (
    Decoder,
    Generation,
    GenerationRequest,
    Probe,
    SplitMix64,
)
from properties import built_in
from properties.calls import Decode, Prefill, Reset
from properties.judge import Judge, PropertyFailed
from properties.laws import LAWS
from properties.program import ProgramRefused, program
from properties.script import Weights
from properties.shrink import shrunk
from tests.black_boxes import make, rounds_its_logits
from tests.broken_answers import (
    minds_what_is_spare,
    nudges_after_a_refusal,
    nudges_the_first_cache_ever,
    rounds_logits,
    zeroes_rows_in_a_reset,
)
from tests.broken_failures import leaves_a_bit_after_two_failures
from tests.judged import GROWS, failure_of, script_of
from tests.programs import beginning, is_short, message_of
from tests.test_laws import MORE, WITNESSES
from tests.witness import Patch, Witness

Generate: TypeAlias = Callable[..., Generation]

# It breaks the first cache of a process, which the judge's own was.
ONCE = nudges_the_first_cache_ever
EACH = [each for each in (*WITNESSES, *MORE) if each.breaks is not ONCE]


def break_engine(breaks: Patch, patch: pytest.MonkeyPatch) -> None:
    """For programs as well, which take ``generate`` from its package."""
    breaks(patch)
    broken: Generate = vars(built_in)["generate"]

    def generate(
        decoder: Decoder,
        prompt: tuple[int, ...],
        request: GenerationRequest,
        rng: SplitMix64,
        probe: Probe | None = None,
    ) -> Generation:
        return broken(decoder, prompt, request, rng, probe)

    patch.setattr(engine, "generate", generate)


def plain(witness: Witness) -> PropertyFailed:
    """Its failure, on the plainest weights on which it fails."""
    weights = Weights(seed=38, scale=witness.scale)
    script = witness.script.model_copy(update={"weights": weights})
    try:
        Judge()(script)
    except PropertyFailed as failure:
        return failure
    return failure_of(witness.script)


def needs_the_engine_alone(text: str) -> bool:
    """Its public names and what Python and NumPy have, each of which is used."""
    nodes = list(ast.walk(ast.parse(text)))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    imported = {
        alias.asname or alias.name: node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    ours = {name for name, module in imported.items() if module == "engine"}
    others = {module for module in imported.values() if module != "engine"}
    standard = {"contextlib", "copy", "dataclasses", "itertools", "tempfile"}
    return ours <= {*engine.__all__} and imported.keys() <= used and others <= standard


@pytest.mark.parametrize("witness", EACH, ids=lambda each: each.breaks.__name__)
def test_program_fails_as_the_script_does(
    witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_engine(witness.breaks, monkeypatch)
    failure = plain(witness)
    if witness.breaks is leaves_a_bit_after_two_failures:
        failure = shrunk(failure, Judge)  # as it is it takes 27 lines
    text = program(failure)

    assert is_short(text)
    assert needs_the_engine_alone(text)
    assert message_of(text).startswith(beginning(failure))
    monkeypatch.undo()
    assert message_of(text) == ""


def test_program_names_property_place_and_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds_logits(monkeypatch)
    failure = failure_of(script_of(*GROWS))
    found = failure.broken[failure.law]
    text = program(failure)

    assert text.startswith(f"# P1 logits. {LAWS['P1'].says}\n")
    assert message_of(text) == (
        f"P1 logits, the newest logits at [0]: due {found.due}, came {found.came}"
    )


def test_program_is_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    zeroes_rows_in_a_reset(monkeypatch)
    script = script_of(*GROWS, Reset())

    assert program(failure_of(script)) == program(failure_of(script))


def test_program_fouls_spare_rows_where_it_must(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        minds_what_is_spare(patch)
        assert "nan" in program(failure_of(script_of(*GROWS)))
    nudges_after_a_refusal(monkeypatch)
    calls = Prefill(prompt=(0,)), Decode(token_id=9)

    assert "nan" not in program(failure_of(script_of(*calls)))


def test_program_of_what_cannot_fail_here_is_thorough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ONCE(monkeypatch)
    text = program(failure_of(script_of(*GROWS)))

    assert message_of(text) == ""
    assert "run = KVCache(twin).bind(twin)" in text
    assert 'run.cache.fill_spare(float("nan"))' in text


def test_other_engine_has_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds_its_logits(monkeypatch)
    failure = failure_of(script_of(*GROWS), Judge(make))

    with pytest.raises(ProgramRefused, match="none that a program can import"):
        program(failure)


def test_wrong_replay_has_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds_logits(monkeypatch)
    failure = failure_of(script_of(*GROWS))
    wrong = replace(failure.broken[failure.law], place=("replay", "logits", 0))
    failure.broken = {failure.law: wrong}

    with pytest.raises(ProgramRefused, match="it is no place of the engine"):
        program(failure)


def test_long_failure_has_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    leaves_a_bit_after_two_failures(monkeypatch)
    (witness,) = (
        each for each in MORE if each.breaks is leaves_a_bit_after_two_failures
    )

    with pytest.raises(ProgramRefused, match=r"it takes \d\d lines"):
        program(failure_of(witness.script))
