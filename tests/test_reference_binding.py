"""The model of binding: whom a cache belongs to, until when, and what a copy has."""

from dataclasses import replace

from engine import (
    CacheInUse,
    ConfigMismatch,
    ParameterMismatch,
    ParameterRevisionMismatch,
    Work,
)
from reference.session import (
    CacheModel,
    Content,
    DecoderModel,
    ParameterModel,
)
from tests.modelled import DECODER, NAMES, closed, opened, refusal
from tests.models import TINY


def other(**changes: object) -> DecoderModel:
    config = replace(TINY, **changes)  # type: ignore[arg-type] # any field may change
    return DecoderModel(config, tuple(map(ParameterModel, NAMES)))


def test_bind_names_the_first_field_of_the_configuration() -> None:
    cache, given = CacheModel(DECODER, Work()), other(capacity=5, rope_base=2.0, d_ff=9)

    assert refusal(lambda: cache.bind(given), cache) == (
        ConfigMismatch,
        ("d_ff", 1, 9),
    )


def test_bind_compares_floats_by_their_bits() -> None:
    zero, minus = other(rms_epsilon=0.0), other(rms_epsilon=-0.0)
    cache = CacheModel(zero, Work())

    assert repr(refusal(lambda: cache.bind(minus), cache)) == repr(
        (ConfigMismatch, ("rms_epsilon", 0.0, -0.0))
    )


def test_bind_names_the_first_strange_parameter_before_any_revision() -> None:
    own = tuple(map(ParameterModel, NAMES))
    cache = CacheModel(DecoderModel(TINY, own), Work())
    given = (own[0], ParameterModel("second"), ParameterModel("third"))
    own[0].revision += 1

    found = refusal(lambda: cache.bind(DecoderModel(TINY, given)), cache)

    assert found == (ParameterMismatch, (1, "second"))


def test_bind_names_the_first_replaced_parameter_before_an_open_session() -> None:
    decoder = DecoderModel(TINY, tuple(map(ParameterModel, NAMES)))
    decoder.parameters[1].revision = 3
    cache = CacheModel(decoder, Work())
    cache.bind(decoder)
    for parameter in decoder.parameters[1:]:
        parameter.revision += 1

    found = refusal(lambda: cache.bind(decoder), cache)

    assert found == (ParameterRevisionMismatch, (1, "second", 3, 4))


def test_bind_is_refused_while_a_session_is_open() -> None:
    session = opened()

    assert refusal(lambda: session.cache.bind(DECODER), session.cache) == (
        CacheInUse,
        (),
    )


def test_cache_bound_again_goes_on_where_it_was() -> None:
    session = closed(opened(Work(decode_tokens=5), prompt=(0, 1)))
    again = session.cache.bind(DECODER)
    again.decode(2)

    assert session.cache.sessions == [session, again]
    assert session.cache.content == Content((0, 1, 2), 2, Work(decode_tokens=5))
    assert (session.is_open, session.cache.is_bound) == (False, True)


def test_cache_is_bound_from_bind_to_close() -> None:
    cache = CacheModel(DECODER, Work())
    before = cache.is_bound
    session = cache.bind(DECODER)
    during = cache.is_bound
    session.close()

    assert (before, during, cache.is_bound) == (False, True, False)


def test_cache_is_stale_once_a_parameter_was_replaced_and_stays_so() -> None:
    decoder = DecoderModel(TINY, tuple(map(ParameterModel, NAMES)))
    cache = CacheModel(decoder, Work())
    before = cache.is_stale
    decoder.parameters[2].revision += 1
    cache.content = Content((), 0, Work())

    assert (before, cache.is_stale) == (False, True)
    assert not CacheModel(decoder, Work()).is_stale


def test_copy_has_the_same_content_and_no_session() -> None:
    session = opened(Work(token_forwards=5), prompt=(0, 1))
    copy = session.cache.copy()

    assert copy.content == session.cache.content
    assert copy.work == session.cache.work
    assert (copy.sessions, copy.is_bound) == ([], False)


def test_copy_goes_on_apart() -> None:
    session = opened(prompt=(0,))
    copy = session.cache.copy()
    session.decode(1)
    copy.bind(DECODER).decode(2)

    assert session.cache.content.history == (0, 1)
    assert copy.content.history == (0, 2)


def test_copy_of_a_stale_cache_is_stale() -> None:
    decoder = DecoderModel(TINY, tuple(map(ParameterModel, NAMES)))
    cache = CacheModel(decoder, Work())
    decoder.parameters[0].revision += 1

    assert cache.copy().is_stale
    assert cache.copy().parameters is cache.parameters
