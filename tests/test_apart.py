"""No answer breaks a law; what goes on where no law complains is not compared."""

import pytest

from properties.built_in import BuiltIn
from properties.calls import Call, Decode, Generate, Prefill, Reset
from properties.judge import Judge
from properties.laws import LAWS
from properties.subject import Answer, Offer
from tests.broken_answers import is_full_one_row_early
from tests.broken_calls import CALLS
from tests.judged import GROWS, closing, failure_of, outcomes, script_of

perform = BuiltIn.perform


@pytest.mark.parametrize("calls", [GROWS, ()])
def test_answer_without_logits_breaks_p1(
    calls: tuple[Call, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(subject: BuiltIn, call: Call) -> Answer:
        perform(subject, call)
        return Answer()

    monkeypatch.setattr(BuiltIn, "perform", silent)

    failure = failure_of(script_of(*calls))

    assert list(failure.broken) == [LAWS["P1"]]
    assert failure.call == (*calls, Prefill(prompt=(0,)))[0]


def test_answer_without_a_generation_breaks_p6(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def silent(subject: BuiltIn, call: Call) -> Answer:
        answer = perform(subject, call)
        return answer if answer.generation is None else Answer()

    monkeypatch.setattr(BuiltIn, "perform", silent)

    failure = failure_of(script_of(*GROWS, Generate(prompt=(0,))))

    assert list(failure.broken) == [LAWS["P6"]]
    assert "no generation came" in str(failure)


def raises(subject: BuiltIn, call: Call) -> Answer:
    del subject, call
    raise RuntimeError


@pytest.mark.parametrize("call", [GROWS[0], Reset(), Generate(prompt=(0,))])
def test_error_of_no_class_is_a_refusal_of_another(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BuiltIn, "perform", raises)

    failure = failure_of(script_of(call))

    assert list(failure.broken) == [LAWS["R2"]]


def lacks(patch: pytest.MonkeyPatch, offer: Offer) -> None:
    patch.setattr(BuiltIn, "offers", BuiltIn.offers - {offer})


@pytest.mark.parametrize("call", [GROWS[0], Reset(), Generate(prompt=(0,))])
def test_error_of_an_engine_without_refusals_breaks_p1(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacks(monkeypatch, Offer.REFUSALS)
    monkeypatch.setattr(BuiltIn, "perform", raises)

    failure = failure_of(script_of(call))

    assert list(failure.broken) == [LAWS["P1"]]


WITNESSES = {witness.law: witness for witness in CALLS}


@pytest.mark.parametrize(
    ("law", "offer"),
    [("C4", Offer.COUNTERS)],
)
def test_refusal_whose_law_is_not_asked_is_that_of_r2(
    law: str, offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    witness = WITNESSES[law]
    witness.breaks(monkeypatch)
    owner = failure_of(witness.script)
    lacks(monkeypatch, offer)

    failure = failure_of(witness.script)

    assert list(owner.broken) == [LAWS[law]]
    assert list(failure.broken) == [LAWS["R2"]]


def test_run_ends_where_no_law_that_is_asked_complains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_full_one_row_early(monkeypatch)
    calls = (Prefill(prompt=(0, 1, 2)), Decode(token_id=2), Decode(token_id=9))

    verdict = Judge(laws=(LAWS["P1"], LAWS["P3"]))(script_of(*calls))

    assert outcomes(verdict) == ["done"]
    assert closing(verdict) == []


def test_run_ends_at_a_failure_of_an_engine_without_refusals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody knows what it left."""
    lacks(monkeypatch, Offer.REFUSALS)

    verdict = Judge()(script_of(Prefill(prompt=(0,)), Reset(), scale=1e100))

    assert outcomes(verdict) == []
    assert closing(verdict) == []
