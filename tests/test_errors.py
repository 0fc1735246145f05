"""Every error survives what Python and its libraries do with exceptions."""

import copy
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from engine import EngineError, Stage, errors
from tests.models import facts

ERRORS: Final = (
    errors.CacheFull(4),
    errors.CacheInUse(),
    errors.ConfigMismatch("rope_base", 1.0, 2.0),
    errors.DecodeRequiresPrefill(),
    errors.DecodeTokenOutOfRange(-1, 3),
    errors.DuplicateParameter("name"),
    errors.EmptyPrompt(),
    errors.EosTokenOutOfRange(3, 3),
    errors.FileRejected("path", "part", "reason"),
    errors.GradientMismatch(1, "name", "reason"),
    errors.InvalidBudget(-1),
    errors.InvalidConfig("d_ff", "x", "reason"),
    errors.InvalidOptimizerConfig("beta1", 1.0, "reason"),
    errors.InvalidTemperature(0.0),
    errors.InvalidTopK(0, 3),
    errors.NonFinite(1, float("inf")),
    errors.NonFiniteUpdate(1, "name"),
    errors.ParameterBorrowed("name"),
    errors.ParameterInStep(1, "name"),
    errors.ParameterLayout(1, "name", "reason"),
    errors.ParameterMismatch(1, "name"),
    errors.ParameterRevisionMismatch(1, "name", 0, 2),
    errors.ParameterSetChanged(("a", "b"), ("b", "c")),
    errors.PrefillRequiresEmpty(2),
    errors.PromptTokenOutOfRange(1, 9, 3),
    errors.PromptTooLong(5, 4),
    errors.SessionBusy(),
    errors.SessionClosed(),
    errors.StageFailed(Stage.SCORES, 1),
    errors.StageFailed(Stage.LOSS, None),
    errors.TargetCountMismatch(2, 1),
    errors.TargetOutOfRange(1, 9, 3),
    errors.WorkOverflow("decode_tokens"),
    errors.ZeroEnergyRow(2),
)

each_error: Final = pytest.mark.parametrize(
    "error", ERRORS, ids=lambda error: type(error).__name__
)


def test_errors_are_all_here() -> None:
    classes = [getattr(errors, name) for name in errors.__all__]

    leaves = {each for each in classes if not each.__subclasses__()}
    assert {type(error) for error in ERRORS} == leaves


@each_error
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))],
)
def test_error_survives_copying(
    error: EngineError, copied: Callable[[EngineError], EngineError]
) -> None:
    duplicate = copied(error)

    assert duplicate is not error
    assert facts(duplicate) == facts(error)
    assert str(duplicate) == str(error)


@each_error
def test_error_is_hashed_and_compared_by_identity(error: EngineError) -> None:
    assert len({error, copy.copy(error)}) == 2


@each_error
def test_error_takes_a_note(error: EngineError) -> None:
    noted = copy.copy(error)

    noted.add_note("where")

    assert noted.__notes__ == ["where"]


@each_error
def test_error_passes_through_a_context_manager(error: EngineError) -> None:
    @contextmanager
    def untouched() -> Iterator[None]:
        yield

    with pytest.raises(type(error)) as passed, untouched():
        raise error

    assert passed.value is error


@each_error
def test_error_says_its_fields_in_one_clause(error: EngineError) -> None:
    sentence = str(error)

    assert sentence
    assert not sentence.endswith(".")
    assert "\n" not in sentence


@each_error
def test_error_has_its_fields_as_arguments(error: EngineError) -> None:
    names = type(error).__match_args__  # type: ignore[attr-defined] # made by dataclass

    assert tuple(getattr(error, name) for name in names) == error.args
    assert set(vars(error)) == set(names)


def test_error_matches_on_its_fields() -> None:
    match errors.PromptTokenOutOfRange(1, 9, 3):
        case errors.PromptTokenOutOfRange(position=1, token_id=token_id, vocab_size=3):
            matched = token_id
        case _:
            matched = -1

    assert matched == 9


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (errors.StageFailed(Stage.SCORES, 1), "the stage 'scores' of block 1 failed"),
        (errors.StageFailed(Stage.LOSS, None), "the stage 'loss' failed"),
        (
            errors.ParameterSetChanged(("a", "b"), ("b", "c")),
            "the parameters changed: missing ['a'], surplus ['c']",
        ),
        (errors.NonFinite(1, float("inf")), "the value at flat index 1 is inf"),
    ],
)
def test_error_that_has_a_choice_of_words_says(
    error: EngineError, sentence: str
) -> None:
    assert str(error) == sentence


def test_families_promise_for_their_leaves() -> None:
    assert issubclass(errors.ConstructionError, ValueError)
    for family in (
        errors.RequestError,
        errors.BindingError,
        errors.OptimizerError,
        errors.ConstructionError,
    ):
        assert issubclass(family, errors.EngineError)
        assert family.__subclasses__()
