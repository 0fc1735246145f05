"""Whatever a law compares, its program compares it too."""

from dataclasses import replace

import pytest

from engine import DecoderSession, KVCache, RequestError, StepOutput
from properties.calls import (
    Decode,
    Reset,
)
from properties.judge import Judge
from properties.laws import LAWS
from properties.program import ProgramRefused, program
from tests.broken_calls import tells_one_score_more
from tests.judged import GROWS, failure_of, script_of
from tests.programs import (
    beginning,
    is_short,
    message_of,
    message_on_its_engine,
    mutant,
)
from tests.witness import ULP, with_logits
from tests.wrong_places import PLACES


@pytest.mark.parametrize("what", PLACES)
def test_program_compares_what_the_law_compares(what: str) -> None:
    wrong = PLACES[what]
    failure = failure_of(wrong.witness, Judge(wrong.make()))
    place = failure.broken[failure.law].place
    text = program(failure)

    assert failure.law.id == wrong.killer
    assert {*what.split()} <= {*" ".join(map(str, place)).split()}
    assert is_short(text)
    assert message_on_its_engine(text, failure).startswith(beginning(failure))
    assert message_of(text) == ""


def test_redundant_law_has_a_program() -> None:
    wrong = mutant(
        "C3",
        "session",
        ("scores = newest.scores_formed", "scores = newest.scores_formed * length"),
        GROWS,
    )
    judge = Judge(wrong.make(), laws=[LAWS["C3"]])
    failure = failure_of(wrong.witness, judge)
    text = program(failure)

    assert message_on_its_engine(text, failure).startswith("C3 growth, growth a row: ")
    assert message_of(text) == ""


def test_decode_on_a_copy_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, copied = DecoderSession.decode, KVCache.__copy__
    copies, refused = list[KVCache](), list[DecoderSession]()

    def copy(cache: KVCache) -> KVCache:
        copies.append(copied(cache))
        return copies[-1]

    def decode(session: DecoderSession, token_id: int) -> StepOutput:
        try:
            output = honest(session, token_id)
        except RequestError:
            refused.append(session)
            raise
        is_nudged = refused and session.cache in copies
        return with_logits(output, output.logits * ULP) if is_nudged else output

    monkeypatch.setattr(KVCache, "__copy__", copy)
    monkeypatch.setattr(DecoderSession, "decode", decode)
    failure = failure_of(script_of(*GROWS[:1], Decode(token_id=9), Reset()))
    text = program(failure)

    assert failure.broken[failure.law].place[0] == "decode on a copy"
    assert message_of(text).startswith(beginning(failure))
    monkeypatch.undo()
    assert message_of(text) == ""


def test_wrong_count_of_the_replay_has_no_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tells_one_score_more(monkeypatch)
    failure = failure_of(script_of(*GROWS))
    wrong = replace(failure.broken[failure.law], place=("scores", "of the replay"))
    failure.broken = {failure.law: wrong}

    with pytest.raises(ProgramRefused, match="the replay is wrong, and not the engine"):
        program(failure)
