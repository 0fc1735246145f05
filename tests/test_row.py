"""A value that is not finite fails the call at its stage, wherever it would vanish.

Three tokens: ``PLAIN`` meets only zeros, ``STEEP`` the weights that overflow, and
``EVEN`` has a mean square of exactly 1. All matrices but the embedding start at 0, so
that a block leaves a row as it is.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pytest

from engine import (
    Decoder,
    EngineError,
    NonFinite,
    Probe,
    Stage,
    StageFailed,
    ZeroEnergyRow,
)
from engine.arrays import Array, Numbers
from engine.floating import silently
from engine.layers import softmax
from reference import replay
from tests.models import TINY, World, bits_of, decoder_of, decoder_with, facts, logical

PLAIN, STEEP, EVEN = 0, 1, 2
EMBEDDING: Final = "token_embedding.weight"
ROWS: Final = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
CONFIG: Final = replace(TINY, n_layers=2)
ROOT_2: Final = 2**0.5

Given: TypeAlias = Mapping[str, Numbers]


def decoder(weights: Given, epsilon: float = 1e-6, n_layers: int = 2) -> Decoder:
    config = replace(CONFIG, rms_epsilon=epsilon, n_layers=n_layers)
    zeros: dict[str, Numbers] = {
        each.name: np.zeros(each.value.shape)
        for each in decoder_of(config).parameters
        if each.name.endswith("weight")
    }
    known = {
        name: value
        for name, value in weights.items()
        if name in zeros or "gain" in name
    }
    return decoder_with(config, zeros | {EMBEDDING: ROWS} | known)


def steep(*row: float) -> Array:
    """A matrix that gives a row for ``STEEP`` and zeros for ``PLAIN``."""
    return np.array([np.zeros(len(row)), row])


class Overflow(NamedTuple):
    """Weights of one block for which one stage of ``STEEP`` overflows."""

    weights: dict[str, Numbers]
    stage: Stage
    cause: NonFinite


INF: Final = np.inf
IN_A_BLOCK: Final = {
    "attention norm": Overflow(
        {"attention_norm.gain": [1.0, 1.7e308]},
        Stage.ATTENTION_NORM,
        NonFinite(1, INF),
    ),
    "query": Overflow(
        {"attention.query.weight": steep(0.0, 1.7e308)}, Stage.QUERY, NonFinite(1, INF)
    ),
    "key": Overflow(
        {"attention.key.weight": steep(-1.7e308, 0.0)}, Stage.KEY, NonFinite(0, -INF)
    ),
    "value": Overflow(
        {"attention.value.weight": steep(0.0, 1.7e308)}, Stage.VALUE, NonFinite(1, INF)
    ),
    "query rotation": Overflow(
        {"attention.query.weight": steep(1.2e308, -1.2e308)},
        Stage.QUERY_ROTATION,
        NonFinite(0, INF),
    ),
    "key rotation": Overflow(
        {"attention.key.weight": steep(1.2e308, 1.2e308)},
        Stage.KEY_ROTATION,
        NonFinite(1, INF),
    ),
    "scores": Overflow(
        {
            "attention.query.weight": steep(1e200, 0.0),
            "attention.key.weight": steep(1e200, 0.0),
        },
        Stage.SCORES,
        NonFinite(1, INF),
    ),
    "a score that softmax would swallow": Overflow(
        {
            "attention.query.weight": steep(1e200, 0.0),
            "attention.key.weight": [[-1e200, 0.0], [0.0, 0.0]],
        },
        Stage.SCORES,
        NonFinite(0, -INF),
    ),
    "output": Overflow(
        {
            "attention.value.weight": steep(1e200, 0.0),
            "attention.output.weight": [[0.0, -1e200], [0.0, 0.0]],
        },
        Stage.OUTPUT,
        NonFinite(1, -INF),
    ),
    "a mean square after attention": Overflow(
        {
            "attention.value.weight": steep(1e200, 0.0),
            "attention.output.weight": [[1.0, 0.0], [0.0, 0.0]],
        },
        Stage.FFN_NORM,
        NonFinite(0, INF),
    ),
    "feed-forward norm": Overflow(
        {"ffn_norm.gain": [1.0, -1.7e308]}, Stage.FFN_NORM, NonFinite(1, -INF)
    ),
    "gate": Overflow(
        {"ffn.gate.weight": steep(-1.7e308)}, Stage.GATE, NonFinite(0, -INF)
    ),
    "up": Overflow({"ffn.up.weight": steep(1.7e308)}, Stage.UP, NonFinite(0, INF)),
    "product": Overflow(
        {"ffn.gate.weight": steep(1e200), "ffn.up.weight": steep(1e200)},
        Stage.PRODUCT,
        NonFinite(0, INF),
    ),
    "down": Overflow(
        {
            "ffn.gate.weight": steep(1.0),
            "ffn.up.weight": steep(1e200),
            "ffn.down.weight": [[1e200, 0.0]],
        },
        Stage.DOWN,
        NonFinite(0, INF),
    ),
}
OUTSIDE: Final = {
    "a mean square that a division would swallow": Overflow(
        {EMBEDDING: [ROWS[PLAIN], [0.0, 1e200], ROWS[EVEN]]},
        Stage.ATTENTION_NORM,
        NonFinite(0, INF),
    ),
    "final norm": Overflow(
        {"final_norm.gain": [1.0, 1.7e308]}, Stage.FINAL_NORM, NonFinite(1, INF)
    ),
    "logits": Overflow(
        {
            EMBEDDING: [ROWS[PLAIN], [0.0, 1e150], ROWS[EVEN]],
            "final_norm.gain": [1.0, 1e200],
        },
        Stage.LOGITS,
        NonFinite(1, INF),
    ),
    "a mean square after the last block": Overflow(
        {
            "blocks.1.ffn.gate.weight": steep(1.0),
            "blocks.1.ffn.up.weight": steep(1e200),
            "blocks.1.ffn.down.weight": [[1.0, 0.0]],
        },
        Stage.FINAL_NORM,
        NonFinite(0, INF),
    ),
}


class Failure(NamedTuple):
    """A decoder that fails at ``STEEP`` in position 1, and how."""

    decoder: Decoder
    error: StageFailed
    cause: EngineError


def failures() -> dict[str, Failure]:
    cases = {}
    for name, (weights, stage, cause) in IN_A_BLOCK.items():
        for layer in (0, 1):
            placed = {f"blocks.{layer}.{key}": each for key, each in weights.items()}
            error = StageFailed(stage, layer)
            cases[f"{name} of block {layer}"] = Failure(decoder(placed), error, cause)
    for name, (weights, stage, cause) in OUTSIDE.items():
        layer_or_none = 0 if stage is Stage.ATTENTION_NORM else None
        error = StageFailed(stage, layer_or_none)
        cases[name] = Failure(decoder(weights), error, cause)
    return cases


FAILURES: Final = failures()


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
