"""Strategies: configurations, weights and tokens on which caches go wrong."""

from hypothesis import strategies as st

from engine import DecoderConfig


@st.composite
def configs(draw: st.DrawFn) -> DecoderConfig:
    """Small decoders whose sizes do not divide each other.

    Most have two blocks or more: some faults cannot be seen with fewer. Two thirds
    share key/value heads. Some have room beyond a power of two of positions.
    They shrink towards one head of two features.
    """
    n_kv_heads = draw(st.integers(1, 3))
    n_heads = n_kv_heads * draw(st.integers(1, 3))
    head_dim = draw(st.sampled_from([2, 4, 6]))
    return DecoderConfig(
        vocab_size=draw(st.integers(2, 7)),
        d_model=n_heads * head_dim,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_ff=draw(st.integers(1, 9)),
        n_layers=draw(st.sampled_from([2, 2, 2, 3, 1, 0])),
        capacity=draw(st.sampled_from([1, 2, 3, 4, 5, 6, 9, 17, 33])),
        rope_base=draw(st.sampled_from([10_000.0, 1.5, 500_000.0])),
        rms_epsilon=draw(st.sampled_from([1e-6, 1e-2, 0.0])),
    )


def seeds() -> st.SearchStrategy[int]:
    """Seeds of decoders at the chapter's scale."""
    return st.integers(0, 2**64 - 1)


def token_ids(config: DecoderConfig) -> st.SearchStrategy[int]:
    """Tokens in the vocabulary."""
    return st.integers(0, config.vocab_size - 1)


def prompts(config: DecoderConfig) -> st.SearchStrategy[list[int]]:
    """Prompts of 1 token, of many, and of exactly the capacity."""
    fitting = st.integers(1, config.capacity)
    sizes = st.one_of(fitting, st.just(config.capacity))
    tokens = token_ids(config)
    return sizes.flatmap(lambda n: st.lists(tokens, min_size=n, max_size=n))


def strange_tokens(config: DecoderConfig) -> st.SearchStrategy[int]:
    """Integers beside the vocabulary, near and far."""
    return st.one_of(
        st.just(config.vocab_size), st.just(-1), st.just(2**64 + 1), st.just(-(2**63))
    )
