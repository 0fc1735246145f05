"""An engine of which nothing is known but its logits, under the same judge."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pytest
from hypothesis import given, strategies as st

from engine import AdamWConfig, DecoderConfig
from engine.arrays import Array, Vector
from properties.calls import (
    Bind,
    Call,
    Close,
    Copy,
    Decode,
    Generate,
    NewCache,
    NewDecoder,
    Prefill,
    Reset,
    Step,
    Train,
)
from properties.chapter import CONFIG
from properties.judge import Judge, PropertyFailed
from properties.laws import LAWS
from properties.script import Script, ScriptRejected, Weights
from properties.subject import BlackBox, Subject
from tests.black_boxes import (
    Patch,
    Plain,
    answers_another_way_each_time,
    forgets_the_first_token,
    keeps_a_row_in_a_reset,
    keeps_its_position_in_a_reset,
    make,
    prefills_in_another_order,
    rounds_its_logits,
    rounds_once_after_a_reset,
)

UP: Final = (Prefill(prompt=(0, 1)), Decode(token_id=2))
AGAIN: Final = (*UP, Reset(), *UP)
REFUSED: Final = (
    Decode(token_id=0),
    Prefill(prompt=()),
    Prefill(prompt=(0, 9)),
    Prefill(prompt=(True,)),
    *UP,
    Prefill(prompt=(1,)),
    Decode(token_id=-1),
    Decode(token_id=2),
    Decode(token_id=2),
    Reset(),
    Decode(token_id=2),
)


def script_of(*calls: Call, config: DecoderConfig = CONFIG) -> Script:
    weights = Weights(seed=38, gain_spread=0.5)
    return Script(config=config, weights=weights, calls=calls)


JUDGE: Final = Judge(make)
ALPHABET: Final = (*REFUSED, Prefill(prompt=(2, 2, 2, 2)), Decode(token_id=1))


@given(st.lists(st.sampled_from(ALPHABET), max_size=6))
def test_right_engine_breaks_no_law(calls: list[Call]) -> None:
    verdict = JUDGE(script_of(*calls))

    assert {each.outcome for each in (*verdict.seen, *verdict.closing)} <= {"done"}
    assert len(verdict.seen) <= len(calls)


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(4, 2), (2, 1), (2, 2)])
def test_right_engine_may_share_heads(n_heads: int, n_kv_heads: int) -> None:
    config = replace(CONFIG, d_model=8, n_heads=n_heads, n_kv_heads=n_kv_heads)
    seen = Judge(make)(script_of(*UP, config=config)).seen

    assert 0 < max(each.error for each in seen) < 1


def test_refused_calls_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[tuple[Plain, object]]()
    prefill, decode = Plain.prefill, Plain.decode

    def noted_prefill(engine: Plain, prompt: Sequence[int]) -> Vector:
        made.append((engine, prompt))
        return prefill(engine, prompt)

    def noted_decode(engine: Plain, token_id: int) -> Vector:
        made.append((engine, token_id))
        return decode(engine, token_id)

    monkeypatch.setattr(Plain, "prefill", noted_prefill)
    monkeypatch.setattr(Plain, "decode", noted_decode)
    verdict = Judge(make)(script_of(*REFUSED))
    asked = [given for engine, given in made if engine is made[0][0]]

    # A prefill decodes each token of its prompt.
    assert asked == [(0, 1), 0, 1, 2, 2, (0,), 0, 4, 0]
    assert [each.call for each in verdict.seen] == [*UP, Decode(token_id=2), Reset()]


@pytest.mark.parametrize(
    ("breaks", "law", "calls"),
    [
        (keeps_its_position_in_a_reset, "S3", AGAIN),
        (keeps_a_row_in_a_reset, "P1", AGAIN),
        (forgets_the_first_token, "P1", UP),
        (rounds_its_logits, "P1", UP),
        (prefills_in_another_order, "P3", UP),
        (answers_another_way_each_time, "S6", UP[:1]),
    ],
)
def test_wrong_engine_is_rejected(
    breaks: Patch, law: str, calls: tuple[Call, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    Judge(make)(script_of(*calls))
    breaks(monkeypatch)

    with pytest.raises(PropertyFailed) as failure:
        Judge(make)(script_of(*calls))
    assert next(iter(failure.value.broken)) is LAWS[law]


@pytest.mark.parametrize(
    "call",
    [
        Bind(),
        Close(),
        Copy(),
        NewCache(),
        NewDecoder(),
        Step(),
        Train(tokens=(0,), targets=(0,)),
        Generate(prompt=(0,)),
    ],
    ids=lambda each: each.call,
)
def test_what_is_not_offered_is_rejected(call: Call) -> None:
    with pytest.raises(ScriptRejected, match="call 2: the engine offers no"):
        JUDGE(script_of(*UP, call))


def test_laws_that_need_more_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds_its_logits(monkeypatch)
    script = script_of(*UP)

    for law in LAWS.values():
        if law.needs:
            assert Judge(make, laws=(law,))(script).seen


class Moody:
    """An engine that does something else than to answer."""

    def __init__(self, mood: str) -> None:
        self.mood = mood

    def prefill(self, prompt: Sequence[int]) -> Vector:
        return self.decode(len(prompt))

    def decode(self, token_id: int) -> Vector:
        if self.mood == "raises":
            raise RuntimeError(token_id)
        return None if self.mood == "none" else [0.0]  # type: ignore[return-value] # what an engine may return

    def reset(self) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("mood", ["raises", "none", "list"])
@pytest.mark.parametrize("calls", [UP, UP[:1], ()])
def test_engine_that_does_not_answer_is_rejected(
    mood: str, calls: tuple[Call, ...]
) -> None:
    def moody(
        config: DecoderConfig, weights: Mapping[str, Array], optimizer: AdamWConfig
    ) -> Subject:
        del config, weights, optimizer
        return BlackBox(Moody(mood))

    with pytest.raises(PropertyFailed, match="no answer came") as failure:
        Judge(moody)(script_of(*calls))
    assert list(failure.value.broken) == [LAWS["P1"]]


def test_engine_that_returns_one_buffer_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest, buffer = Plain.decode, list[Vector]()

    def decode(engine: Plain, token_id: int) -> Vector:
        buffer.append(honest(engine, token_id))
        buffer[0][:] = buffer[-1]
        return buffer[0]

    monkeypatch.setattr(Plain, "decode", decode)

    with pytest.raises(PropertyFailed) as failure:
        Judge(make)(script_of(*UP))
    assert list(failure.value.broken) == [LAWS["S5"]]


def test_engine_that_is_off_by_a_bit_after_a_reset_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds_once_after_a_reset(monkeypatch)

    with pytest.raises(PropertyFailed) as failure:
        Judge(make)(script_of(*UP, Reset(), *UP))
    assert list(failure.value.broken) == [LAWS["S3"]]


@pytest.mark.parametrize("then", [(), (Decode(token_id=0), Reset(), *UP)])
def test_right_engine_may_overflow(then: tuple[Call, ...]) -> None:
    """What it answers then is no law, as it may be infinite, or no number."""
    calls = (Prefill(prompt=(0,)), Decode(token_id=1))
    overflows = Decode(token_id=3)
    config = replace(CONFIG, vocab_size=4, n_kv_heads=1, d_ff=1, n_layers=1)
    weights = Weights(seed=0, scale=1e60)

    with np.errstate(all="ignore"):
        verdict = Judge(make)(
            Script(config=config, weights=weights, calls=(*calls, overflows, *then))
        )
    assert tuple(each.call for each in verdict.seen) == calls
    assert verdict.closing == ()
