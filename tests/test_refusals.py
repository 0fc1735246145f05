"""Every refusal: its class, fields and sentence, and that nothing changed."""

from typing import Final

import pytest

import engine
from engine import (
    BindingError,
    ConstructionError,
    EngineError,
    EosTokenOutOfRange,
    FileRejected,
    InvalidBudget,
    InvalidTemperature,
    InvalidTopK,
    NonFinite,
    OptimizerError,
    RequestError,
    StageFailed,
    TargetCountMismatch,
    TargetOutOfRange,
    WorkOverflow,
    ZeroEnergyRow,
)
from tests.models import PROMPT, World, facts, ones_for, outcome
from tests.refusals import CASES, Case
from tests.step_refusals import STEP_CASES

ALL_CASES: Final = CASES | STEP_CASES
each_case: Final = pytest.mark.parametrize("case", ALL_CASES.values(), ids=ALL_CASES)

# Refused by calls that have modules of their own.
ELSEWHERE: Final = {
    EosTokenOutOfRange,
    FileRejected,
    InvalidBudget,
    InvalidTemperature,
    InvalidTopK,
    TargetCountMismatch,
    TargetOutOfRange,
}
# Causes of ``StageFailed``; where each arises is in ``overflows``.
CAUSES: Final = {NonFinite, StageFailed, ZeroEnergyRow}


FAMILIES: Final = (
    RequestError,
    BindingError,
    OptimizerError,
    ConstructionError,
    WorkOverflow,
    StageFailed,
)


def after(world: World) -> list[object]:
    """What the next calls give, refusals included, and all that is left in the end."""
    given = [outcome(lambda: world.session.decode(1))]
    world.session.close()
    try:
        world.session = world.cache.bind(world.decoder)
    except EngineError as error:
        given.append(facts(error))
    else:
        given.append(outcome(lambda: world.session.decode(1)))
        world.session.reset()
        given.append(outcome(lambda: world.session.prefill(PROMPT)))
        given.append(outcome(lambda: world.session.decode(2)))
        world.session.close()
    parameters = world.decoder.parameters
    given.append(world.optimizer.step(parameters, ones_for(parameters)))
    end = world.everything()
    return [*given, end.cache.bits, end.cache.work, *end[2:]]


@each_case
def test_refusal_has_its_class_and_fields(case: Case) -> None:
    world = case.make()

    with pytest.raises(EngineError) as refusal:
        case.call(world)

    assert facts(refusal.value) == facts(case.error)


@each_case
def test_refusal_names_the_values_and_the_limit(case: Case) -> None:
    sentence = str(case.error)

    assert [word for word in case.says if str(word) not in sentence] == []


@each_case
def test_refusal_changes_nothing(case: Case) -> None:
    world = case.make()
    before = world.everything()

    with pytest.raises(EngineError):
        case.call(world)

    assert world.everything() == before


@each_case
def test_refusal_is_forgotten_by_the_next_calls(case: Case) -> None:
    refused, undisturbed = case.make(), case.make()
    with pytest.raises(EngineError):
        case.call(refused)

    assert after(refused) == after(undisturbed)


@each_case
def test_refusal_belongs_to_one_family(case: Case) -> None:
    families = [each for each in FAMILIES if isinstance(case.error, each)]

    assert len(families) == 1


@each_case
def test_refusal_of_a_construction_is_a_value_error(case: Case) -> None:
    is_construction = isinstance(case.error, ConstructionError)

    assert isinstance(case.error, ValueError) == is_construction


def test_every_leaf_error_is_tested() -> None:
    classes = [getattr(engine.errors, name) for name in engine.errors.__all__]
    leaves = {each for each in classes if not each.__subclasses__()}
    here = {type(case.error) for case in ALL_CASES.values()}

    assert here | CAUSES | ELSEWHERE == leaves
    assert not here & ELSEWHERE
