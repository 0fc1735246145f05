"""Every script that is tried in place of another is smaller, and can be read again."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Changes,
    Close,
    Copy,
    Decode,
    Flaw,
    Generate,
    NewCache,
    NewDecoder,
    Prefill,
    Reset,
    Sampling,
    Step,
    Train,
)
from properties.chapter import CONFIG
from properties.fewer import (
    merged,
    with_fault_later,
    with_first_objects,
    without_age,
    without_calls,
    without_pairs,
)
from properties.lesser import numbers, powers, tokens
from properties.resized import shortened, with_blocks, with_vocabulary
from properties.script import Script, Weights, from_json, to_json
from properties.smaller import size_of, smaller
from tests.any_script import any_script
from tests.judged import MIXED, script_of
from tests.planned import fault


def renewed(script: Script) -> Script:
    return from_json(to_json(script))


@settings(deadline=None, max_examples=50)  # some have thousands of smaller ones
@given(any_script)
def test_any_smaller_script_is_smaller_and_a_script(script: Script) -> None:
    given_text, limit = to_json(script), size_of(script)
    made = [each for each in smaller(script) if to_json(each) != given_text]

    assert all(size_of(each) < limit for each in made)
    assert all(to_json(renewed(each)) == to_json(each) for each in made)


def test_less_in_several_blocks_is_smaller() -> None:
    factors = ("blocks.1.ffn.up.weight", 1e9), ("final_norm.gain", 0.5)
    script = script_of(
        *MIXED, BindRebuilt(rebuilt=(0, 12, 19)), faults=(fault(1, 37), fault(4, 20))
    ).model_copy(update={"weights": Weights(seed=9, scale=2e6, factors=factors)})
    limit = size_of(script)
    made = [each for each in smaller(script) if to_json(each) != to_json(script)]

    assert len(made) > len(script.calls)
    assert all(size_of(each) < limit for each in made)
    assert all(renewed(each) == each for each in made)


def test_later_caches_and_decoders_get_new_numbers() -> None:
    script = script_of(
        *(NewCache(), NewDecoder(), Copy(cache=1), Bind(cache=1), Bind(cache=2)),
        *(NewCache(decoder=1), Bind(cache=3, decoder=1)),
        faults=(fault(4, 1), fault(6, 2)),
    )

    left = without_calls(script, {0})

    assert left.calls == (
        NewDecoder(),
        NewCache(decoder=1),
        Bind(cache=1, decoder=1),
    )
    assert left.faults == (fault(2, 2),)


def test_calls_on_a_cache_are_made_on_the_first() -> None:
    script = script_of(NewCache(), Bind(cache=1), Prefill(cache=1, prompt=(0,)))

    assert script_of(Prefill(prompt=(0,))) in with_first_objects(script)


def test_older_sessions_get_younger() -> None:
    script = script_of(Close(), Bind(), Close(), Bind(), Reset(age=2))

    assert script_of(Close(), Close(), Bind(), Reset(age=1)) in without_age(script, 1)


def test_fault_of_a_call_that_goes_strikes_the_next_one() -> None:
    script = script_of(Prefill(prompt=(0,)), Decode(token_id=1), faults=(fault(0, 3),))

    (left,) = with_fault_later(script, 0)

    assert left == script_of(Decode(token_id=1), faults=(fault(0, 3),))


def test_calls_that_are_no_neighbours_go_in_pairs() -> None:
    script = script_of(Close(), Prefill(prompt=(0,)), Bind())

    assert script_of(Prefill(prompt=(0,))) in without_pairs(script)


def test_decode_is_merged_into_its_prompt_with_its_fault() -> None:
    calls: tuple[Call, ...] = (Prefill(prompt=(0, 1)), NewCache(), Decode(token_id=2))
    script = script_of(*calls, faults=(fault(2, 5),))
    row = 1 + 17 * 2 + 2

    (whole,) = merged(script)

    assert whole.calls == (Prefill(prompt=(0, 1, 2)), NewCache())
    assert whole.faults == (fault(0, 2 * row + 5),)


def test_fault_stays_at_its_stage_in_a_shorter_prompt() -> None:
    row = 1 + 17 * 2 + 2
    script = script_of(Prefill(prompt=(0, 1, 2)), faults=(fault(0, 2 * row + 5),))

    left = shortened(script, 0, range(1))

    assert left == script_of(Prefill(prompt=(1, 2)), faults=(fault(0, row + 5),))


@pytest.mark.parametrize(
    ("index", "left"), [(0, 0), (3, 3), (12, 3), (19, 10), (20, 11)]
)
def test_parameters_and_stages_stay_in_fewer_blocks(index: int, left: int) -> None:
    script = script_of(
        *(Step(flaw=Flaw(kind="nan", index=index)), Prefill(prompt=(0, 1))),
        faults=(fault(1, 37 + 20),),
    )

    small = with_blocks(script, 1)

    assert small.calls[0] == Step(flaw=Flaw(kind="nan", index=left))
    assert small.faults == (fault(1, 20 + 3),)


def test_tokens_keep_their_kind_in_a_smaller_vocabulary() -> None:
    generate = Generate(
        prompt=(4, 5, True),
        eos_token=3,
        sampling=Sampling(temperature=1.0, k=6),
        max_new_tokens=9,
    )
    script = script_of(
        Prefill(prompt=(4, 5, -1)), Train(tokens=(4,), targets=(7,)), generate
    )

    small = with_vocabulary(script, 2)

    assert small.calls == (
        Prefill(prompt=(0, 2, -1)),
        Train(tokens=(0,), targets=(4,)),
        generate.model_copy(
            update={
                "prompt": (0, 2, True),
                "eos_token": 1,
                "sampling": Sampling(temperature=1.0, k=3),
            }
        ),
    )


def test_binds_that_change_or_rebuild_nothing_are_not_tried() -> None:
    calls = BindRebuilt(rebuilt=(0,)), BindChanged(changes=Changes(capacity=5))

    tried = [call for each in smaller(script_of(*calls)) for call in each.calls]

    assert not any(isinstance(each, BindRebuilt) and not each.rebuilt for each in tried)


def test_orders() -> None:
    assert list(numbers(3)) == [0, 1, 2]
    assert list(numbers(-3)) == [-1, -2, 0]
    assert list(numbers(200)) == [0, 100, 194, 197, 199]
    assert list(tokens(7, 5)) == [5, 6, 0]
    assert list(tokens(True, 5)) == [False]  # noqa: FBT003 # True is no token
    assert list(powers(2e3)) == [1.0, 10.0, 100.0, 1000.0]
    assert list(powers(-1e-2)) == [-1.0, -0.1]
    assert not list(powers(1.0))


def test_each_pass_is_tried() -> None:
    calls: tuple[Call, ...] = Prefill(prompt=(0,)), Decode(token_id=1), Reset()
    script = script_of(*calls, NewCache())
    odd = replace(CONFIG, rms_epsilon=1e-2, rope_base=1.5)
    tried = list(smaller(script.model_copy(update={"config": odd})))
    configs = [each.config for each in tried if each.calls == script.calls]
    kept = [each.calls for each in tried if each.config == odd]

    assert replace(odd, rms_epsilon=1e-6) in configs
    assert replace(odd, rope_base=10_000.0) in configs
    assert (Prefill(prompt=(0, 1)), Reset(), NewCache()) in kept  # merged
    assert (Decode(token_id=1), NewCache()) in kept  # without a pair
    assert (calls[0], calls[2], NewCache()) in kept  # without one
