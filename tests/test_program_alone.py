"""In a process of its own a program fails on a mutant, and passes on the engine."""

from pathlib import Path
from typing import Final

import pytest

from properties.calls import (
    Bind,
    Close,
    Copy,
    Decode,
    Generate,
    Prefill,
    Step,
)
from properties.fresh import planted, run_fresh
from properties.judge import Judge, PropertyFailed
from properties.mutants import Mutant
from properties.program import program
from tests.judged import failure_of
from tests.planned import fault
from tests.programs import (
    MOVED,
    beginning,
    message_of,
    mutant,
    then,
)

_GROWS: Final = (Prefill(prompt=(0, 1)), Decode(token_id=2))
_FULL: Final = (Prefill(prompt=(0, 1, 2, 3)), Decode(token_id=2))


MUTANTS: Final = (
    mutant(
        "P1",
        "row",
        (
            "length = self.position + 1",
            "length = 1",
        ),
        _GROWS,
    ),
    mutant(
        "P3",
        "session",
        then(
            "row = self._row(weights, token, state.length)",
            f"row.logits = row.logits * {MOVED}",
        ),
        _GROWS,
    ),
    mutant(
        "P5",
        "row",
        then(
            "new_rows = self.prefix.bits_at(self.position).reshape(-1)",
            "if np.isnan(self.prefix.bits_at(self.position + 1)).any():",
            f"    self.logits = self.logits * {MOVED}",
        ),
        _GROWS,
    ),
    mutant(
        "P6",
        "sampling",
        (
            "return Choice(int(np.argmax(logits)), None, 0.0, 1.0)",
            "return Choice(int(np.argmin(logits)), None, 0.0, 1.0)",
        ),
        (Generate(prompt=(0,)),),
    ),
    mutant(
        "S4",
        "cache",
        then(
            "session._lease.weights = Weights.of(decoder.config, values)",
            "self._prefix.fill_spare(0.0)",
        ),
        (Prefill(prompt=(0,)), Close(), Bind()),
    ),
    mutant(
        "S6",  # it never fails a second time in one process
        "cache",
        then(
            "values = [held.array() for held in held_by(parameters)]",
            "KVCache.n_bound = getattr(KVCache, 'n_bound', 0) + 1",
            "values = [v + 1 - 1 for v in values] if KVCache.n_bound == 1 else values",
        ),
        (Prefill(prompt=(0, 1)),),
    ),
    mutant(
        "R1",
        "session",
        then(
            "if not 0 <= token < config.vocab_size:",
            "    prefix.fill_spare(0.5)",
        ),
        (Prefill(prompt=(0,)), Decode(token_id=9)),
    ),
    mutant(
        "R2",
        "session",
        (
            "raise CacheFull(config.capacity)",
            "raise CacheFull(config.capacity + 1)",
        ),
        _FULL,
    ),
    mutant(
        "B3",
        "evidence",
        (
            "if cached != current:",
            "if cached > current:",
        ),
        (Close(), Step(), Bind()),
    ),
    mutant(
        "B4",
        "optimizer",
        (
            "return others or bool(parameter._readers)",
            "return others",
        ),
        (Step(),),
    ),
    mutant(
        "B5",
        "adamw",
        (
            "return weight - step - decay, first, second",
            "return weight - step, first, second",
        ),
        (Close(), Step()),
    ),
    mutant(
        "E1",
        "cache",
        (
            "LayerRows(keys[:, :length].copy(), values[:, :length].copy(), length)",
            "LayerRows(keys[:, :length], values[:, :length], length)",
        ),
        _GROWS,
    ),
    mutant(
        "E2",
        "prefix",
        (
            "state, storage = self.at_one_moment(self._storage.copy)",
            "state, storage = self.state, self._storage",
        ),
        (*_GROWS, Copy()),
    ),
    mutant(
        "A1",
        "session",
        (
            "prefix.restore(state.length, spare)",
            "pass",
        ),
        _GROWS,
        (fault(1, 9),),
    ),
)


def failure_on(wrong: Mutant) -> PropertyFailed:
    return failure_of(wrong.witness, Judge(wrong.make()))


@pytest.mark.parametrize("wrong", MUTANTS, ids=lambda each: each.killer)
def test_program_fails_on_the_mutant(wrong: Mutant, tmp_path: Path) -> None:
    failure = failure_on(wrong)
    text = program(failure)
    path = tmp_path / "program.py"
    path.write_text(text, encoding="utf-8")
    run = run_fresh(path, planted(wrong, tmp_path / "home"))

    assert failure.law.id == wrong.killer
    assert run.returncode == 1
    assert f"\nAssertionError: {beginning(failure)}" in run.stderr
    assert message_of(text) == ""


def test_program_passes_on_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(program(failure_on(MUTANTS[0])), encoding="utf-8")
    run = run_fresh(path)

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
