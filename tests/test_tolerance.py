"""Every stage of a right computation is within the bound, and the bound is sharp.

Models are drawn anew at each run. In 3,000 of them no stage of the replay or of the
engine was off by more than 0.52 of its bound.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final, get_args

import numpy as np
import pytest

from engine import DecoderConfig, Stage, StageFailed
from engine.arrays import DType
from engine.stages import Place, row_places
from properties.allowed import Allowed
from properties.drawn import initial_weights
from properties.replayed import Replayed, wider_than
from properties.rounding import Floats
from properties.script import Weights
from properties.tolerance import READS, Bounds
from reference import replay
from reference.replay import Reals
from tests.probed import recorded_by_probe
from tests.weights_of_kinds import KINDS, Drawn, drawn_model, drawn_weights

N_MODELS: Final = 6

SHALLOW: Final = DecoderConfig(
    vocab_size=20,
    d_model=16,
    n_heads=2,
    n_kv_heads=1,
    d_ff=32,
    n_layers=2,
    capacity=256,
    rope_base=10_000.0,
    rms_epsilon=1e-6,
)

each_dtype: Final = pytest.mark.parametrize("dtype", get_args(DType))


class Pass:
    """One prefix in its dtype, and the same in a wider one."""

    def __init__(self, drawn: Drawn) -> None:
        config, weights, tokens = drawn
        self.drawn = drawn
        self.replayed = Replayed.of(config, weights, tokens)
        self.bounds = self.replayed.bounds
        wider = wider_than(config)
        assert wider is not None, "no wider dtype tells the truth on this machine"
        self.due = dict[Place, Reals]()
        replay(config, weights, tokens, wider, self.due.__setitem__)

    def share(self, recorded: Mapping[Place, Reals]) -> tuple[float, Place]:
        """The largest error as a share of its bound, and where it is."""
        shares = {
            place: Allowed(due, self.bounds.at[place]).share(recorded[place])
            for place, due in self.due.items()
        }
        place = max(shares, key=lambda each: shares[each])
        return shares[place], place


@pytest.mark.parametrize("kind", KINDS)
@each_dtype
def test_every_stage_of_replay_and_engine_is_within_the_bound(
    kind: str, dtype: DType
) -> None:
    for _ in range(N_MODELS):
        seed = int(np.random.default_rng().integers(2**32))
        drawn = drawn_model(np.random.default_rng(seed), kind, dtype)
        try:
            made = Pass(drawn)
        except StageFailed:  # an epsilon of 0 and a row of zeros
            continue
        assert set(made.bounds.at) == set(row_places(drawn.config.n_layers))
        assert not made.bounds.at[Stage.EMBEDDING, None].any()
        for numbers in (made.replayed.recorded, recorded_by_probe(*drawn)):
            share, place = made.share(numbers)

            assert share < 1, (kind, seed, place)


@pytest.mark.parametrize("n_layers", [0, 1, 4])
@each_dtype
def test_bound_is_a_small_part_of_the_largest_number(
    n_layers: int, dtype: DType
) -> None:
    """Not so in a width of 2, where a sum is next to nothing now and then."""
    most = {"float64": 1e-12, "float32": 3e-4}[dtype]
    config = replace(SHALLOW, n_layers=n_layers, dtype=dtype)
    for seed in range(5):
        weights = initial_weights(config, Weights(seed=seed, gain_spread=0.5))
        made = Replayed.of(config, weights, tuple(range(12)))

        assert relative(made, Stage.LOGITS, None) < most
        for layer in range(n_layers):
            assert relative(made, Stage.KEY_ROTATION, layer) < most
            assert relative(made, Stage.VALUE, layer) < most


def relative(made: Replayed, stage: Stage, layer: int | None) -> float:
    """The largest bound of a stage, as a share of its largest value."""
    bound: Floats = made.bounds.at[stage, layer]
    return float(bound.max() / np.abs(made.recorded[stage, layer]).max())


def test_large_epsilon_makes_rows_and_their_bounds_small() -> None:
    drawn = drawn_model(np.random.default_rng(3), "xavier", "float64")
    config = replace(drawn.config, rms_epsilon=1e8)
    made = Replayed.of(*drawn._replace(config=config))

    assert np.abs(made.recorded[Stage.FINAL_NORM, None]).max() < 1e-3
    assert relative(made, Stage.FINAL_NORM, None) < 1e-12


def of_logits(config: DecoderConfig, length: int) -> float:
    """Of a few models, the median."""
    found = [relative(of_seed(config, length, k), Stage.LOGITS, None) for k in range(5)]
    return float(np.median(found))


def of_seed(config: DecoderConfig, length: int, seed: int) -> Replayed:
    weights = initial_weights(config, Weights(seed=seed, gain_spread=0.5))
    tokens = np.random.default_rng(seed).integers(config.vocab_size, size=length)
    return Replayed.of(config, weights, tuple(tokens.tolist()))


@each_dtype
def test_bound_grows_slowly_with_depth_width_and_length(dtype: DType) -> None:
    """Relative to logits it need not grow with depth: the stream does as well."""
    shallow = replace(SHALLOW, dtype=dtype)
    least = of_logits(shallow, 16)
    deep = of_logits(replace(shallow, n_layers=16), 16)
    wide = of_logits(replace(shallow, d_model=64, d_ff=128), 16)
    long = of_logits(shallow, 128)

    assert 0.5 * least < deep < 3 * least
    assert 0.5 * least < wide < 2 * least
    assert least < long < 4 * least


@each_dtype
def test_bound_of_the_stream_grows_from_block_to_block(dtype: DType) -> None:
    made = of_seed(replace(SHALLOW, n_layers=8, dtype=dtype), 6, 5)
    streams = [made.bounds.at[Stage.FFN_RESIDUAL, layer] for layer in range(8)]

    for before, after in pairwise(streams):
        assert (after > before).all()


def test_angles_are_off_by_what_rounding_makes_of_exponents() -> None:
    """With a base below 1 angles are large; 50 pairs have exponents of all kinds."""
    config = replace(SHALLOW, d_model=100, n_heads=1, n_layers=1, rope_base=1e-10)
    weights = drawn_weights(np.random.default_rng(0), config, "xavier")
    made = Pass(Drawn(config, weights, (0, 1, 2, 3, 4)))

    for numbers in (made.replayed.recorded, recorded_by_probe(*made.drawn)):
        assert 0.1 < made.share(numbers)[0] < 1


def test_weights_are_read_by_their_own_stages() -> None:
    """A larger matrix makes its own stage's bound larger; and what comes after it."""
    weights = dict(initial_weights(SHALLOW, Weights(seed=5)))
    tokens = (0, 1, 2)
    plain = Replayed.of(SHALLOW, weights, tokens)
    for stage, name in READS.items():
        layer = None if name in weights else 1
        full = name if layer is None else f"blocks.{layer}.{name}"
        larger = Replayed.of(SHALLOW, weights | {full: 2 * weights[full]}, tokens)
        before = {
            place
            for place, bound in plain.bounds.at.items()
            if np.array_equal(bound, larger.bounds.at[place])
        }
        places = row_places(SHALLOW.n_layers)
        first = places.index((stage, layer)) if name != READS[Stage.LOGITS] else 0

        assert set(places[:first]) <= before
        assert (larger.bounds.at[stage, layer] > plain.bounds.at[stage, layer]).all()


def test_bounds_of_rows_are_those_of_their_stages() -> None:
    rng = np.random.default_rng(2)
    values: Floats = rng.uniform(size=(5, 6))
    keys: Floats = rng.uniform(size=(3, 5, 2))
    logits: Floats = rng.uniform(size=(5, 7))
    at = {
        (Stage.LOGITS, None): logits,
        (Stage.KEY_ROTATION, 1): keys,
        (Stage.VALUE, 1): values,
    }
    found = Bounds(at)

    assert found.logits is logits
    assert found.keys(1) is keys
    np.testing.assert_array_equal(found.values(1)[2, 4], values[4, 4:])


def test_query_heads_have_the_bounds_of_their_own_keys_and_values() -> None:
    config = replace(SHALLOW, n_heads=4, n_kv_heads=2)
    weights = dict(initial_weights(config, Weights(seed=5)))
    for name, stage in (("value", Stage.MIXTURE), ("key", Stage.SCORES)):
        full = f"blocks.0.attention.{name}.weight"
        halved = weights[full].copy()
        halved[:, config.head_dim :] = 0
        made = Replayed.of(config, weights | {full: halved}, (0, 1, 2))
        largest = made.bounds.at[stage, 0].max(axis=(1, 2))

        assert (largest[:2] > 1e-17).all()
        assert (largest[2:] < 1e-300).all()
