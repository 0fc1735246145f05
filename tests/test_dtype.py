"""A float32 decoder is float32 from its weights to its logits, and nowhere wider."""

from dataclasses import replace
from typing import Final, Literal

import numpy as np
import pytest

from engine import (
    Decoder,
    DecoderConfig,
    DecoderSession,
    InvalidConfig,
    KVCache,
    NonFinite,
    Parameter,
    ParameterLayout,
    SplitMix64,
    Stage,
    StageFailed,
    ZeroEnergyRow,
    loss_and_gradients,
)
from engine.arrays import Array, DType
from engine.layers import rotation
from tests.models import (
    GROUPED,
    PROMPT,
    SINGLE,
    TINY,
    World,
    decoder_of,
    filled,
    widened,
)

UNIT: Final = float(np.finfo(np.float32).eps) / 2


@pytest.mark.parametrize(
    "value", [np.float32, np.dtype("float32"), "f4", "Float32", "", None, True, 32, []]
)
def test_other_dtypes_are_refused(value: DType) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        replace(TINY, dtype=value)

    assert refusal.value.args == ("dtype", value, "must be 'float64' or 'float32'")


def test_text_of_a_class_of_its_own_is_no_dtype() -> None:
    with pytest.raises(InvalidConfig):
        replace(TINY, dtype=np.str_("float32"))  # type: ignore[arg-type] # refused at run time


def test_dtype_is_float64_where_nothing_else_is_said() -> None:
    assert TINY.dtype == "float64"
    assert TINY.float_type is np.float64
    assert SINGLE.float_type is np.float32


def test_cache_of_float32_may_be_twice_as_long() -> None:
    single = replace(TINY, dtype="float32")
    largest = (2**63 - 1) // (2 * TINY.kv_width * 4)

    assert replace(single, capacity=largest).capacity == largest
    with pytest.raises(InvalidConfig, match="at most 2\\^63 - 1 fit"):
        replace(single, capacity=largest + 1)


def test_weights_are_those_of_float64_rounded_once() -> None:
    single, double = SplitMix64(3), SplitMix64(3)
    rounded = Decoder.initialize(SINGLE, single).parameters
    drawn = Decoder.initialize(GROUPED, double).parameters

    assert single.state == double.state
    assert [each.value.tobytes() for each in rounded] == [
        each.value.astype(np.float32).tobytes() for each in drawn
    ]


@pytest.mark.parametrize(
    ("config", "given"), [(SINGLE, "float64"), (GROUPED, "float32")]
)
def test_parameter_of_the_other_dtype_is_refused(
    config: DecoderConfig, given: str
) -> None:
    parameters = list(decoder_of(config).parameters)
    name = parameters[2].name
    parameters[2] = Parameter(name, parameters[2].value.astype(given))

    with pytest.raises(ParameterLayout) as refusal:
        Decoder.from_parameters(config, parameters)

    reason = f"has the dtype {given}, not {config.dtype}"
    assert refusal.value.args == (2, name, reason)


@pytest.mark.parametrize("n_layers", [0, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_stage_and_row_has_the_dtype(dtype: DType, n_layers: int) -> None:
    seen: dict[str, set[Stage]] = {}

    def look(stage: Stage, _layer: int | None, _position: int, value: Array) -> None:
        seen.setdefault(value.dtype.name, set()).add(stage)

    decoder = decoder_of(replace(GROUPED, n_layers=n_layers, dtype=dtype))
    world = World(decoder=decoder, probe=look)
    outputs = [world.session.prefill(PROMPT), world.session.decode(2)]

    assert [*seen] == [dtype]
    assert not n_layers or seen[dtype] == {*Stage} - {Stage.LOSS, Stage.GRADIENT}
    assert {each.logits.dtype for each in outputs} == {np.dtype(dtype)}
    for rows in world.cache.layers:
        assert {rows.keys.dtype, rows.values.dtype} == {np.dtype(dtype)}


def test_storage_takes_four_bytes_a_number() -> None:
    bits = World.empty(SINGLE).cache.snapshot().bits

    assert len(bits) == 4 * (2 * SINGLE.n_layers * SINGLE.capacity * SINGLE.kv_width)


def test_logits_and_rows_are_those_of_float64_within_some_roundings() -> None:
    single = World.full(SINGLE)
    double = World(decoder=widened(single.decoder))
    outputs = [double.session.prefill(PROMPT)]
    outputs += [double.session.decode(2) for _ in range(SINGLE.capacity - len(PROMPT))]

    for one, other in zip(single.returned, outputs, strict=True):
        assert_close(one.logits, other.logits)
        assert one.logits.tobytes() != other.logits.astype(np.float32).tobytes()
    for rows, wide in zip(single.cache.layers, double.cache.layers, strict=True):
        assert_close(rows.keys, wide.keys)
        assert_close(rows.values, wide.values)


def assert_close(given: Array, wide: Array) -> None:
    bound = 32 * UNIT * float(np.abs(wide).max())
    np.testing.assert_allclose(given, wide, rtol=0, atol=bound, equal_nan=False)


@pytest.mark.parametrize("position", [1, 3, 4096])
def test_rotation_is_that_of_float64_rounded_once(position: int) -> None:
    unit = rotation(position, 8, 10_000.0, "float32")
    wide = rotation(position, 8, 10_000.0, "float64")

    assert unit.dtype == np.complex64
    assert unit.tobytes() == wide.astype(np.complex64).tobytes()


@pytest.mark.parametrize(
    ("epsilon", "cause"),
    [(1e-60, ZeroEnergyRow), (0.0, ZeroEnergyRow), (1e300, NonFinite)],
)
@pytest.mark.parametrize("verdict", ["ignore", "raise"])
def test_epsilon_is_a_number_of_the_dtype(
    epsilon: float, cause: type[Exception], verdict: Literal["ignore", "raise"]
) -> None:
    config = replace(TINY, dtype="float32", rms_epsilon=epsilon)
    decoder = filled(config, {"token_embedding.weight": 0.0})
    with np.errstate(all=verdict), KVCache(decoder).bind(decoder) as session:
        failure = failure_of(session)

        with pytest.raises(StageFailed) as of_loss:
            loss_and_gradients(decoder, PROMPT, PROMPT)

    for each in (failure, of_loss.value):
        assert each.args == (Stage.ATTENTION_NORM, 0)
        assert type(each.__cause__) is cause


def failure_of(session: DecoderSession) -> StageFailed:
    with pytest.raises(StageFailed) as failure:
        session.prefill(PROMPT)
    return failure.value


def test_energy_beyond_float32_is_not_finite() -> None:
    decoder = filled(replace(TINY, dtype="float32"), {"token_embedding.weight": 1e20})
    with KVCache(decoder).bind(decoder) as session:
        failure = failure_of(session)

    assert failure.args == (Stage.ATTENTION_NORM, 0)
    assert isinstance(failure.__cause__, NonFinite)
    World(decoder=widened(decoder)).session.prefill(PROMPT)
