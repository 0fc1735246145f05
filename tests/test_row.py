"""A value that is not finite fails the call at its stage, wherever it would vanish."""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import pytest

from engine import NonFinite, Probe, Stage, StageFailed, ZeroEnergyRow
from engine.floating import silently
from engine.layers import softmax
from reference import replay
from tests.models import EMBEDDING, World, bits_of, facts, logical
from tests.overflows import (
    EVEN,
    FAILURES,
    INF,
    PLAIN,
    ROWS,
    STEEP,
    Failure,
    Given,
    decoder,
    steep,
)

ROOT_2: Final = 2**0.5


def seen(*_: object) -> None:
    """A probe that looks at nothing."""


def failed(call: Callable[[], object]) -> tuple[object, object]:
    with pytest.raises(StageFailed) as failure:
        call()
    assert failure.value.__cause__ is not None
    return facts(failure.value), facts(failure.value.__cause__)


@pytest.mark.parametrize("probe", [None, seen])
@pytest.mark.parametrize("case", FAILURES.values(), ids=FAILURES)
def test_failed_decode_names_the_stage_and_changes_nothing(
    case: Failure, probe: Probe | None
) -> None:
    world = World(decoder=case.decoder, probe=probe)
    world.returned.append(world.session.prefill([PLAIN]))
    world.cache.fill_spare(7.0)
    before = world.everything()

    found = failed(lambda: world.session.decode(STEEP))

    assert found == (facts(case.error), facts(case.cause))
    assert world.everything() == before
    undisturbed = World(decoder=case.decoder)
    undisturbed.session.prefill([PLAIN])
    expected = undisturbed.session.decode(PLAIN)
    assert bits_of(world.session.decode(PLAIN)) == bits_of(expected)


@pytest.mark.parametrize("probe", [None, seen])
@pytest.mark.parametrize("case", FAILURES.values(), ids=FAILURES)
def test_failed_prefill_names_the_stage_and_leaves_an_empty_cache(
    case: Failure, probe: Probe | None
) -> None:
    world = World(decoder=case.decoder, probe=probe)
    before = logical(world.cache), world.cache.storage_ids

    found = failed(lambda: world.session.prefill([PLAIN, STEEP]))

    assert found == (facts(case.error), facts(case.cause))
    assert (logical(world.cache), world.cache.storage_ids) == before
    undisturbed = World(decoder=case.decoder)
    expected = undisturbed.session.prefill([PLAIN, PLAIN])
    assert bits_of(world.session.prefill([PLAIN, PLAIN])) == bits_of(expected)


def zero_rows() -> dict[str, Failure]:
    nothing: Given = {EMBEDDING: [ROWS[PLAIN], [0.0, 0.0], ROWS[EVEN]]}
    cause = ZeroEnergyRow(1)
    return {
        "attention norm": Failure(
            decoder(nothing, epsilon=0), StageFailed(Stage.ATTENTION_NORM, 0), cause
        ),
        "final norm": Failure(
            decoder(nothing, epsilon=0, n_layers=0),
            StageFailed(Stage.FINAL_NORM, None),
            cause,
        ),
    }


@pytest.mark.parametrize("probe", [None, seen])
@pytest.mark.parametrize("case", zero_rows().values(), ids=zero_rows())
def test_row_without_energy_fails_where_epsilon_is_0(
    case: Failure, probe: Probe | None
) -> None:
    world = World(decoder=case.decoder, probe=probe)
    world.session.prefill([PLAIN])
    before = world.everything()

    found = failed(lambda: world.session.decode(STEEP))

    assert found == (facts(case.error), facts(case.cause))
    assert world.everything() == before


def test_row_without_energy_is_a_row_of_zeros_where_epsilon_is_not_0() -> None:
    world = World(decoder=decoder({EMBEDDING: [ROWS[PLAIN], [0.0, 0.0], ROWS[EVEN]]}))

    assert world.session.prefill([STEEP]).logits.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("probe", [None, seen])
def test_attention_that_cancels_a_row_fails_at_the_next_norm(
    probe: Probe | None,
) -> None:
    weights: Given = {
        "blocks.1.attention.value.weight": [[1.0, 0.0], [0.0, 0.0]],
        "blocks.1.attention.output.weight": [[-1.0, -1.0], [0.0, 0.0]],
    }
    world = World(decoder=decoder(weights, epsilon=0), probe=probe)

    found = failed(lambda: world.session.prefill([EVEN]))

    assert found == (facts(StageFailed(Stage.FFN_NORM, 1)), facts(ZeroEnergyRow(0)))


@pytest.mark.parametrize("probe", [None, seen])
def test_shifted_score_of_minus_infinity_is_legal(probe: Probe | None) -> None:
    """The first key lies opposite the second query, which is turned by 1 radian."""
    weights: Given = {
        "blocks.0.attention.query.weight": steep(8.6e153, 0.0),
        "blocks.0.attention.key.weight": [
            [-8.6e153 * math.cos(1), -8.6e153 * math.sin(1)],
            [8.6e153, 0.0],
        ],
        "blocks.0.attention.value.weight": [[1.0, 0.0], [0.0, 1.0]],
        "blocks.0.attention.output.weight": [[1.0, 0.0], [0.0, 1.0]],
    }
    world = World(decoder=decoder(weights, epsilon=0), probe=probe)
    world.session.prefill([PLAIN])

    logits = world.session.decode(STEEP).logits

    # All weight is on the token itself: nothing of the first token's feature is there.
    assert logits[PLAIN] == 0
    assert logits[STEEP] == pytest.approx(ROOT_2)


def test_softmax_refuses_a_score_that_it_would_swallow() -> None:
    """Whatever the floating-point flags of the product did not tell."""
    scores = np.array([[[0.0, -np.inf]]])

    with pytest.raises(FloatingPointError, match="-inf"):
        softmax(scores)


@pytest.mark.parametrize("scores", [[0.0, -1e308], [1e200, -1e200], [0.0, 0.0]])
def test_softmax_takes_every_finite_score(scores: list[float]) -> None:
    weights = silently(softmax, np.array([[scores]]))

    assert weights.sum() == 1.0


@pytest.mark.parametrize("case", FAILURES.values(), ids=FAILURES)
def test_bad_row_is_named_without_the_floating_point_flags(
    case: Failure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whether they tell of every thread of a matrix product."""
    monkeypatch.setattr("engine.row.raising", silently)
    world = World(decoder=case.decoder)
    world.session.prefill([PLAIN])

    found = failed(lambda: world.session.decode(STEEP))

    assert found == (facts(case.error), facts(case.cause))


@pytest.mark.parametrize("probe", [None, seen])
def test_infinite_energy_fails_though_the_mean_square_is_finite(
    probe: Probe | None,
) -> None:
    case = decoder({EMBEDDING: [[8e153, 8e153]] * 3}, epsilon=1.79e308, n_layers=0)
    session = World(decoder=case, probe=probe).session

    found = failed(lambda: session.prefill([PLAIN]))

    cause = NonFinite(0, INF)
    assert found == (facts(StageFailed(Stage.FINAL_NORM, None)), facts(cause))
    with pytest.raises(StageFailed, match="final norm"):
        replay(case.config, case.weights, [PLAIN])
