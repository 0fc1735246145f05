"""What is due follows the engine exactly where both verdicts are right."""

from collections.abc import Callable

import pytest

from engine import NonFinite, Stage, StageFailed, ZeroEnergyRow
from properties.settling import is_of_numbers, settled
from properties.subject import Answer

ANSWER = Answer()
DUE = "what is due"


def failure(stage: Stage = Stage.SCORES, *, is_planned: bool = False) -> StageFailed:
    failed = StageFailed(stage, 0)
    failed.__cause__ = ValueError() if is_planned else NonFinite(0, float("inf"))
    return failed


def gives() -> str:
    return DUE


class Wider:
    """Fails at first, and then gives what a wider dtype gives."""

    def __init__(self, failed: StageFailed) -> None:
        self.failed = failed
        self.can_give = False

    def due(self) -> str:
        if not self.can_give:
            raise self.failed
        return DUE

    def can_pass(self) -> bool:
        self.can_give = True
        return True


def never(*_: object) -> bool:
    return False


def always(*_: object) -> bool:
    return True


def test_answer_that_is_due_comes() -> None:
    assert settled(ANSWER, gives, never, never) == DUE


def test_answer_at_an_edge_is_as_right_as_the_failure_that_is_due() -> None:
    wider = Wider(failure())

    assert settled(ANSWER, wider.due, never, wider.can_pass) == DUE


def test_answer_beyond_an_edge_is_wrong() -> None:
    due = failure()
    with pytest.raises(StageFailed) as raised:
        settled(ANSWER, Wider(due).due, always, never)

    assert raised.value is due


def test_failure_at_an_edge_is_as_right_as_the_answer_that_is_due() -> None:
    came = failure()
    with pytest.raises(StageFailed) as raised:
        settled(came, gives, always, never)

    assert raised.value is came


def test_failure_below_an_edge_is_wrong() -> None:
    assert settled(failure(), gives, never, always) == DUE


@pytest.mark.parametrize(("can_fail", "is_came"), [(always, True), (never, False)])
def test_failure_elsewhere_is_right_at_an_edge_alone(
    can_fail: Callable[[StageFailed], bool], *, is_came: bool
) -> None:
    came, due = failure(Stage.GATE), failure()
    with pytest.raises(StageFailed) as raised:
        settled(came, Wider(due).due, can_fail, never)

    assert (raised.value is came) == is_came


@pytest.mark.parametrize(
    "came", [failure(is_planned=True), RuntimeError(), KeyboardInterrupt()]
)
def test_what_no_number_raised_is_never_followed(came: BaseException) -> None:
    assert settled(came, gives, always, always) == DUE
    with pytest.raises(StageFailed):
        settled(came, Wider(failure()).due, always, never)


def test_numbers_fail_by_being_none_or_by_having_no_energy() -> None:
    bare = StageFailed(Stage.FINAL_NORM, None)
    bare.__cause__ = ZeroEnergyRow(3)

    assert is_of_numbers(failure())
    assert is_of_numbers(bare)
    assert not is_of_numbers(failure(is_planned=True))
    assert not is_of_numbers(StageFailed(Stage.SCORES, 0))
    assert not is_of_numbers(ANSWER)
