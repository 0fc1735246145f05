"""``hunt``: the state machine makes scripts, and a judge judges each."""

from collections.abc import Callable
from typing import Final

from hypothesis import settings, strategies as st, target
from hypothesis.stateful import run_state_machine_as_test

from engine import DecoderConfig
from properties.geometry import configs
from properties.judge import Judge, Verdict
from properties.machine import SessionMachine
from properties.script import Script

_ANY_SHAPE: Final = configs()


def hunt(
    new_judge: Callable[[], Judge],
    record: Callable[[Verdict], None],
    length: settings,
    shapes: st.SearchStrategy[DecoderConfig] = _ANY_SHAPE,
) -> None:
    """Make scripts and have them judged, each by a judge of its own.

    Args:
        new_judge: makes one
        record: takes what was seen of each script
        length: how many scripts, of how many turns
        shapes: configurations of their decoders

    Raises:
        PropertyFailed: a script that fails, with turns left out that it does not need.
    """

    def judged(script: Script) -> Verdict:
        verdict = new_judge()(script)
        record(verdict)
        return verdict

    def machine() -> SessionMachine:
        return SessionMachine(judged, shapes)

    run_state_machine_as_test(
        machine,  # type: ignore[arg-type] # takes any maker of them, its docs say
        settings=length,
    )


def climb(
    new_judge: Callable[[], Judge],
    record: Callable[[Verdict], None],
    length: settings,
) -> None:
    """The same, towards large errors and many kinds of answers.

    Raises:
        PropertyFailed: a script that fails, with turns left out that it does not need.
    """

    def record_and_aim(verdict: Verdict) -> None:
        record(verdict)
        errors = [each.error for each in verdict.seen]
        target(max(errors, default=0.0), label="largest error as a share of its bound")
        answers = {(each.call.call, each.outcome) for each in verdict.seen}
        target(len(answers), label="kinds of answer")

    hunt(new_judge, record_and_aim, length)
