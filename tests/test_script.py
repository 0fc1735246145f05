"""A script is its text: what is written is read again, and nothing else is read."""

import json
from typing import Final, get_args

import pytest
from hypothesis import given

from engine import AdamWConfig
from properties.calls import Call, Decode, Generate, Prefill, Reset
from properties.script import (
    Fault,
    Script,
    ScriptRejected,
    Weights,
    from_json,
    to_json,
)
from tests.any_script import EACH_KIND, FAR, any_script
from tests.models import ADAMW, TINY
from tests.no_scripts import WRONG

WHOLE: Final = Script(
    config=TINY,
    weights=Weights(seed=2**64 - 1, scale=0.1, gain_spread=0.5),
    optimizer=ADAMW,
    calls=EACH_KIND,
    faults=(Fault(call=1, point=2, raises="MemoryError", persists=True),),
)
PLAIN: Final = Script(config=TINY, weights=Weights(seed=0), calls=(Reset(),))


def script_of(*calls: Call) -> Script:
    return PLAIN.model_copy(update={"calls": calls})


def shown(script: Script) -> str:
    """All fields as Python writes them, where ``True`` is not ``1``."""
    return repr(script.model_dump())


def read(text: str) -> str:
    return shown(from_json(text))


def test_examples_have_every_kind_and_no_default() -> None:
    fields = [set(type(each).model_fields) for each in EACH_KIND]
    given = [{name for name, _ in each.__repr_args__()} for each in EACH_KIND]

    assert tuple(map(type, EACH_KIND)) == get_args(Call)
    assert given == [each - {"call"} for each in fields]


@pytest.mark.parametrize("call", EACH_KIND, ids=lambda each: each.call)
def test_call_is_read_as_it_was_written(call: Call) -> None:
    script = script_of(call)

    assert read(to_json(script)) == shown(script)


def test_script_is_read_as_it_was_written() -> None:
    assert read(to_json(WHOLE)) == shown(WHOLE)


@given(any_script)
def test_any_script_is_read_as_it_was_written(script: Script) -> None:
    assert read(to_json(script)) == shown(script)


@given(any_script)
def test_equal_scripts_have_equal_text(script: Script) -> None:
    again = from_json(to_json(script))

    assert again == script
    assert to_json(again) == to_json(script)


@pytest.mark.parametrize("token_id", [2**64, -FAR, 2**1024, -(2**1024)])
def test_token_beyond_64_bits_stays(token_id: int) -> None:
    (call,) = from_json(to_json(script_of(Decode(token_id=token_id)))).calls

    assert call == Decode(token_id=token_id)


@pytest.mark.parametrize(
    "call",
    [
        Decode(token_id=True),
        Prefill(prompt=(1, True, False, 0)),
        Generate(prompt=(0,), eos_token=True),
        Generate(prompt=(0,), max_new_tokens=True),
    ],
)
def test_true_is_not_one(call: Call) -> None:
    text = to_json(script_of(call))

    assert "true" in text
    assert "True" in read(text)


def test_false_is_written() -> None:
    """Nor is it the default, where 1 and 0 are budgets."""
    text = to_json(script_of(Generate(prompt=(0,), max_new_tokens=False)))

    assert '"max_new_tokens":false' in text
    assert "'max_new_tokens': False" in read(text)


def test_defaults_are_not_written() -> None:
    written = json.loads(to_json(PLAIN))

    assert written.keys() == {"version", "config", "weights", "calls"}
    assert written["weights"] == {"seed": 0}
    assert written["calls"] == [{"call": "reset"}]


def test_defaults_may_be_left_out_or_written() -> None:
    text = to_json(PLAIN).replace('"reset"', '"reset","cache":0,"age":0')

    assert from_json(text) == PLAIN


def test_optimizer_is_read_with_its_constants() -> None:
    assert from_json(to_json(WHOLE)).optimizer == AdamWConfig(
        learning_rate=0.01, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.1
    )


def test_text_has_a_call_a_line() -> None:
    _, *lines = to_json(script_of(*EACH_KIND)).splitlines()
    read_alone = [json.JSONDecoder().raw_decode(line.strip())[0] for line in lines]

    assert [each["call"] for each in read_alone] == [each.call for each in EACH_KIND]


def test_text_ends_with_a_line() -> None:
    assert to_json(PLAIN).endswith("]}\n")


def test_bytes_are_read_like_text() -> None:
    assert from_json(to_json(WHOLE).encode()) == WHOLE


def replaced(old: str, new: str) -> str:
    text = to_json(PLAIN)
    assert text.count(old) == 1

    return text.replace(old, new)


@pytest.mark.parametrize(("old", "new", "named"), WRONG.values(), ids=WRONG)
def test_what_is_no_script_is_rejected_by_its_place(
    old: str, new: str, named: str
) -> None:
    text = replaced(old, new)

    with pytest.raises(ScriptRejected) as rejection:
        from_json(text)
    assert named in str(rejection.value)


def test_every_fault_of_a_text_is_named() -> None:
    text = replaced('"seed":0', '"seed":-1').replace('"reset"', '"fly"')

    with pytest.raises(ScriptRejected, match=r"weights\.seed: .*; calls\.0: "):
        from_json(text)


def test_scripts_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        PLAIN.calls = ()


def test_record_is_shown_without_defaults() -> None:
    assert repr(Prefill(prompt=(0,), age=1)) == "Prefill(age=1, prompt=(0,))"
    assert repr(Reset()) == "Reset()"
