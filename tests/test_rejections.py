"""What is said of corrupted caches, and of sound ones."""

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np
import pytest

from engine import LayerRows
from engine.arrays import DType
from properties.continuation import Copies, decoded
from properties.corruptions import CORRUPTIONS
from properties.field_rules import FIELD_RULES
from properties.inconsistency import Inconsistent
from properties.prefilled import Model, Prefilled
from properties.rejections import LOGITS, ROWS, RULES, Tally, corrupted, sound
from properties.strength_models import drawn_models

_DTYPES: Final[tuple[DType, ...]] = ("float64", "float32")
_ENOUGH: Final = {"float64": "1e-7", "float32": "1e-4"}


def model(dtype: DType, seed: int) -> Model:
    return drawn_models()["tiny"](dtype, seed)


@cache
def judged(dtype: DType) -> dict[str, Tally]:
    return corrupted(Prefilled.of(model(dtype, 1)), 1)


@pytest.mark.parametrize("dtype", _DTYPES)
def test_every_vector_of_every_block_is_corrupted_in_every_way(dtype: DType) -> None:
    made = model(dtype, 1)
    n_vectors = 2 * made.decoder.config.n_layers * 2 * len(made.prompt)
    counts = {
        name: each.n_judged + each.n_equal for name, each in judged(dtype).items()
    }

    assert counts == dict.fromkeys(CORRUPTIONS, n_vectors)


@pytest.mark.parametrize("dtype", _DTYPES)
def test_bound_on_rows_sees_small_corruptions(dtype: DType) -> None:
    """So many of a few hundred are all of them, but for one or none."""
    tally = judged(dtype)[_ENOUGH[dtype]]

    assert tally.rejected[ROWS] >= 0.995 * tally.n_judged


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("name", ["zero", "next", "1e-2", "half", "1e-4"])
def test_bound_on_rows_sees_no_less_than_others(name: str, dtype: DType) -> None:
    rejected = judged(dtype)[name].rejected

    assert rejected[ROWS] == max(rejected[rule] for rule in RULES)


def test_rules_on_tokens_do_not_see_what_is_small() -> None:
    rejected = judged("float64")["1e-4"].rejected

    assert [rejected[each] for each in ("argmax", "5 tokens", "top 5")] == [0, 0, 0]


def test_smaller_corruptions_are_rejected_less() -> None:
    sizes = [judged("float32")[each].rejected for each in ("1e-2", "1e-4", "1e-7")]
    shares = [[rejected[rule] for rejected in sizes] for rule in (ROWS, LOGITS)]

    assert shares == [sorted(share, reverse=True) for share in shares]


def test_what_the_dtype_does_not_hold_is_left_out() -> None:
    tally = judged("float32")["1e-10"]

    assert tally.n_equal > 9 * tally.n_judged


def test_each_copy_has_one_vector_that_is_corrupted() -> None:
    """The same counts come of caches that are corrupted one by one."""
    case = Prefilled.of(model("float64", 1))
    decoder, rejected = case.model.decoder, Counter[str]()
    for layer, block in enumerate(case.blocks):
        for which, rows in enumerate(block):
            for _, head, position in np.ndindex(rows.shape[:3]):
                blocks, pair = case.blocks, [np.array(each) for each in block]
                pair[which][0, head, position] = 0
                blocks[layer] = Copies(*pair)
                (came,) = decoded(decoder.config, decoder.weights, blocks, case.chosen)
                rejected += sound(replace(case, logits=came)).rejected

    found = judged("float64")["zero"].rejected

    assert {rule: found[rule] for rule in RULES if rule != ROWS} == {
        rule: rejected[rule] for rule in RULES if rule != ROWS
    }


def test_chosen_vectors_are_drawn() -> None:
    """Each corruption gets the same ones, of every block's keys and of its values."""
    case = Prefilled.of(model("float32", 1))
    some, others = (corrupted(case, seed, 3) for seed in (1, 2))
    n_parts = 2 * case.model.decoder.config.n_layers

    assert {each.n_judged + each.n_equal for each in some.values()} == {3 * n_parts}
    assert some["next"] != others["next"]


def test_values_of_equal_tokens_are_equal_in_the_first_block() -> None:
    made = model("float64", 1)
    first, *others = made.prompt
    twice = made._replace(prompt=(first, first, *others[1:]))
    case = Prefilled.of(twice)
    n_pairs = sum(
        one == other for one, other in zip(twice.prompt, twice.prompt[1:], strict=False)
    )
    repeated = 2 * (n_pairs + (twice.prompt[-1] == twice.prompt[-2]))

    assert corrupted(case, 1)["next"].n_equal == repeated


@pytest.mark.parametrize("dtype", _DTYPES)
def test_bound_raises_no_false_alarm(dtype: DType) -> None:
    tally = Tally()
    for seed in range(100, 130):
        tally += sound(Prefilled.of(model(dtype, seed)))

    assert tally.n_judged == 30
    assert (tally.rejected[ROWS], tally.rejected[LOGITS]) == (0, 0)


def test_absolute_tolerances_raise_false_alarms_in_float32() -> None:
    assert sound(Prefilled.of(model("float32", 1))).rejected["allclose 1e-7"] == 1


def test_every_rule_rejects_nonsense() -> None:
    case = Prefilled.of(model("float64", 1))
    rows = LayerRows(case.rows[0].keys + 1, case.rows[0].values, case.rows[0].length)
    nonsense = replace(case, logits=-case.logits, rows=(rows, *case.rows[1:]))

    assert sound(nonsense) == Tally(n_judged=1, rejected=Counter(RULES))


def test_each_standard_is_asked() -> None:
    """What is off by less than two bounds from the replay, but by one from the truth.

    In float32, as every machine has a wider dtype than that.
    """
    case = Prefilled.of(model("float32", 1))
    due, truth = case.standards
    length = len(case.model.prompt) + 1
    exact = truth.logits(length)
    off = np.asarray(exact.due + 1.5 * exact.bound, np.float32)
    shifted = replace(case, logits=np.concatenate([off[None], case.logits[1:]]))

    assert due.logits(length).share(off) <= 1
    assert sound(shifted).rejected[LOGITS] == 1
    assert sound(replace(shifted, standards=(due,))).rejected[LOGITS] == 0


def test_decodes_that_are_not_the_engines_are_no_measure() -> None:
    """A continuation with a fault of its own would be told of the bound."""
    case = Prefilled.of(model("float64", 1))
    rows = LayerRows(case.rows[0].keys, case.rows[0].values + 1, case.rows[0].length)

    with pytest.raises(Inconsistent, match="decodes from sound rows of tiny"):
        corrupted(replace(case, rows=(rows, *case.rows[1:])), 1)


def test_rules_have_names_of_their_own() -> None:
    assert (ROWS, LOGITS, *FIELD_RULES) == RULES
    assert len(set(RULES)) == len(RULES)
