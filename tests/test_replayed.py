"""What is due and what is true of a prefix, and how far each may be missed."""

from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from properties import replayed as module
from properties.replayed import Replayed, Standard, wider_than
from reference.replay import Reals
from tests.models import GROUPED, SINGLE, decoder_of

TOKENS: Final = (0, 1, 2, 1)


def replayed_of(dtype: str = "float64") -> Replayed:
    config = SINGLE if dtype == "float32" else GROUPED
    return Replayed.of(config, decoder_of(config).weights, TOKENS)


def truth_of(prefix: Replayed) -> Standard:
    assert prefix.truth is not None, "no wider dtype tells the truth on this machine"
    return prefix.truth


def test_what_is_due_is_of_the_dtype_and_may_be_missed_by_two_bounds() -> None:
    for dtype in ("float64", "float32"):
        prefix = replayed_of(dtype)
        allowed = prefix.due.logits(3)

        assert allowed.due.dtype == dtype
        np.testing.assert_array_equal(allowed.due, prefix.replay.logits[2])
        np.testing.assert_array_equal(allowed.bound, 2 * prefix.bounds.logits[2])


def test_truth_is_of_a_wider_dtype_and_may_be_missed_by_one_bound() -> None:
    for dtype, wider in (("float64", np.longdouble), ("float32", np.float64)):
        prefix = replayed_of(dtype)
        allowed = truth_of(prefix).logits(3)

        assert wider_than(prefix.config) is wider
        assert allowed.due.dtype == wider
        np.testing.assert_array_equal(allowed.bound, prefix.bounds.logits[2])
        assert 0 < allowed.share(prefix.replay.logits[2]) < 1


def test_truth_does_not_know_the_bounds_of_a_wider_dtype() -> None:
    prefix = replayed_of()

    assert truth_of(prefix).bounds is prefix.bounds


def test_machine_without_a_wider_dtype_has_no_truth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where ``longdouble`` is binary64; float32 has its truth there too."""
    narrow = {"float32": np.float64, "float64": np.float64}
    monkeypatch.setattr(module, "_WIDER", narrow)

    assert wider_than(GROUPED) is None
    assert replayed_of().truth is None
    assert wider_than(SINGLE) is np.float64
    assert replayed_of("float32").truth is not None


@pytest.mark.parametrize("length", [1, 3, 4])
def test_rows_and_logits_are_cut_at_a_length(length: int) -> None:
    prefix = replayed_of()
    known, bounds = prefix.replay, prefix.bounds
    rows = list(prefix.due.rows(length))

    newest = prefix.due.logits(length)
    np.testing.assert_array_equal(newest.due, known.logits[length - 1])
    assert len(rows) == GROUPED.n_layers
    for layer, (keys, values) in enumerate(rows):
        np.testing.assert_array_equal(keys.due, known.keys[layer][:, :length])
        np.testing.assert_array_equal(values.due, known.values[layer][:, :length])
        np.testing.assert_array_equal(keys.bound, 2 * bounds.keys(layer)[:, :length])
        allowed = bounds.values(layer)[:, :length]
        np.testing.assert_array_equal(values.bound, 2 * allowed)


@pytest.mark.parametrize(("layer", "name"), [(0, "values"), (1, "keys"), (1, "values")])
def test_missed_row_is_named(layer: int, name: str) -> None:
    due, length = replayed_of().due, 3
    pairs = list(due.rows(length))
    held: list[tuple[Reals, Reals]] = [
        (keys.due.copy(), values.due.copy()) for keys, values in pairs
    ]
    assert due.missed_row("the engine's ", held, length) is None

    which = ("keys", "values").index(name)
    place, allowed = (1, 2, 1), pairs[layer][which]
    held[layer][which][place] += 0.9 * allowed.bound[place]
    assert due.missed_row("the engine's ", held, length) is None

    held[layer][which][place] += 0.2 * allowed.bound[place]
    found = due.missed_row("the engine's ", held, length)

    where = f"the engine's {name} of block {layer}, [head, position, feature] at "
    assert found is not None
    assert found.where == f"{where}[1, 2, 1]"
    assert found.bound == allowed.bound[place]
    assert (found.due, found.came) == (allowed.due[place], held[layer][which][place])


def test_row_too_many_is_another_shape() -> None:
    due = replayed_of().due
    held = [(keys.due, values.due) for keys, values in due.rows(3)]

    found = due.missed_row("", held, 2)

    assert found is not None
    assert (found.due, found.came) == ((2, 2, 2), (2, 3, 2))


def test_prefix_is_computed_in_another_dtype_for_what_is_beyond_its_own() -> None:
    config = replace(GROUPED, dtype="float32")
    weights = {name: each * 1e13 for name, each in decoder_of(config).weights.items()}
    wide = Replayed.in_dtype(config, weights, TOKENS, np.float64)

    assert wide.replay.logits.dtype == np.float64
    assert {each.dtype.name for each in wide.recorded.values()} == {"float64"}
    assert wide.reach > 1e13


def test_reach_is_the_largest_number_or_what_a_norm_divides_by() -> None:
    prefix = replayed_of()
    largest = max(np.abs(each).max() for each in prefix.recorded.values())
    weights = {name: 1e-9 * each for name, each in prefix.weights.items()}
    faint = Replayed.of(replace(GROUPED, rms_epsilon=0.0), weights, TOKENS)
    streams = faint.recorded[module.STREAMS[0], None]

    assert prefix.reach >= largest
    assert faint.reach >= 1 / np.sqrt((streams * streams).mean(axis=1).min())
    silent = {name: 0 * each for name, each in prefix.weights.items()}
    assert Replayed.of(GROUPED, silent, TOKENS).reach == pytest.approx(1e3)
