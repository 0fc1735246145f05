"""Every law rejects an engine that no other law rejects: the proof that it can fail."""

import pytest

from properties.judge import Judge, PropertyFailed
from properties.laws import LAWS
from tests.broken_answers import ANSWERS
from tests.broken_calls import CALLS, MORE_CALLS
from tests.broken_failures import FAILURES, MORE_FAILURES
from tests.broken_numbers import NUMBERS
from tests.witness import Witness

WITNESSES = (*ANSWERS, *CALLS, *FAILURES, *NUMBERS)
MORE = (*MORE_CALLS, *MORE_FAILURES)


def broken_by(witness: Witness) -> list[str]:
    with pytest.raises(PropertyFailed) as failure:
        Judge()(witness.script)
    return [law.id for law in failure.value.broken]


@pytest.mark.parametrize(
    "witness", [*WITNESSES, *MORE], ids=lambda each: each.breaks.__name__
)
def test_law_alone_rejects(witness: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    Judge()(witness.script)
    witness.breaks(monkeypatch)

    assert broken_by(witness) == [witness.law]


def test_every_law_has_a_witness_or_a_reason() -> None:
    seen = {witness.law for witness in WITNESSES}

    assert {law.id for law in LAWS.values() if not law.redundant} == seen
