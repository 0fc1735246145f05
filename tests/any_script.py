"""Any script at all: strategies of every record, sensible or not, and of each call."""

import math
from typing import Final

from hypothesis import strategies as st

from engine import AdamWConfig
from properties import calls
from properties.calls import Call, Changes, Flaw, Sampling, Token
from properties.script import Fault, Script, Weights
from tests.models import TINY

FAR: Final = 2**70

indices: Final = st.integers(0, 3)
words: Final = st.integers(0, 2**64 - 1)
numbers: Final = st.floats(allow_nan=False, allow_infinity=False).map(
    lambda number: number + 0.0  # -0.0 is 0.0 to whoever leaves out a default
)
sizes: Final = numbers.map(abs)
tokens: Final[st.SearchStrategy[Token]] = st.one_of(
    st.sampled_from((0, 1, True, False)), st.integers(-FAR, FAR)
)
prompts: Final = st.lists(tokens, max_size=2).map(tuple)
several: Final = st.lists(indices, min_size=1, max_size=2).map(tuple)

flaws: Final = st.builds(
    Flaw,
    kind=st.sampled_from(
        ("missing", "surplus", "shape", "nan", "overflow", "duplicate", "subset")
    ),
    index=indices,
)
samplings: Final = st.builds(
    Sampling,
    temperature=st.one_of(numbers, st.sampled_from(("inf", "-inf", "nan"))),
    k=st.integers(-FAR, FAR),
)
changes: Final = st.builds(
    Changes,
    n_layers=st.none() | st.integers(-FAR, FAR),
    rms_epsilon=st.none() | numbers,
)
any_call: Final[st.SearchStrategy[Call]] = st.one_of(
    st.builds(calls.NewDecoder, decoder=indices, rebuilt=several),
    st.builds(calls.Restore, decoder=indices),
    st.builds(calls.NewCache, decoder=indices, work=st.tuples(*6 * [words])),
    st.builds(calls.Copy, cache=indices),
    st.builds(calls.Bind, cache=indices, decoder=indices),
    st.builds(calls.BindRebuilt, cache=indices, decoder=indices, rebuilt=several),
    st.builds(calls.BindChanged, cache=indices, decoder=indices, changes=changes),
    st.builds(calls.Prefill, cache=indices, age=indices, prompt=prompts),
    st.builds(calls.Decode, cache=indices, age=indices, token_id=tokens),
    st.builds(calls.Reset, cache=indices, age=indices),
    st.builds(calls.Close, cache=indices, age=indices),
    st.builds(
        calls.Step,
        decoder=indices,
        seed=words,
        scale=numbers,
        flaw=st.none() | flaws,
    ),
    st.builds(calls.Train, decoder=indices, tokens=prompts, targets=prompts),
    st.builds(
        calls.Generate,
        decoder=indices,
        prompt=prompts,
        sampling=st.none() | samplings,
        eos_token=st.none() | tokens,
        max_new_tokens=st.integers(-FAR, FAR),
        rng_state=words,
    ),
)
faults: Final = st.builds(
    Fault,
    call=indices,
    point=indices,
    raises=st.sampled_from(
        ("Exception", "MemoryError", "FloatingPointError", "KeyboardInterrupt")
    ),
    persists=st.booleans(),
)
any_script: Final = st.builds(
    Script,
    config=st.just(TINY),
    weights=st.builds(
        Weights, seed=words, scale=st.floats(1e-300, 1e300), gain_spread=sizes
    ),
    optimizer=st.builds(
        AdamWConfig,
        learning_rate=st.just(math.pi),
        beta1=st.floats(0, 1, exclude_max=True),
        beta2=st.just(0.1),
        epsilon=st.just(5e-324),
        weight_decay=st.just(0.0),
    ),
    calls=st.lists(any_call, max_size=3).map(tuple),
    faults=st.lists(faults, max_size=1).map(tuple),
)

EACH_KIND: Final[tuple[Call, ...]] = (
    calls.NewDecoder(decoder=1, rebuilt=(0, 2)),
    calls.Restore(decoder=1),
    calls.NewCache(decoder=1, work=(1, 2, 3, 4, 5, 2**64 - 1)),
    calls.Copy(cache=1),
    calls.Bind(cache=1, decoder=2),
    calls.BindRebuilt(cache=1, decoder=2, rebuilt=(3,)),
    calls.BindChanged(
        cache=1,
        decoder=2,
        changes=Changes(
            vocab_size=2,
            d_model=6,
            n_heads=3,
            n_kv_heads=3,
            d_ff=5,
            n_layers=0,
            capacity=7,
            rope_base=0.1,
            rms_epsilon=0.0,
            dtype="float32",
        ),
    ),
    calls.Prefill(cache=1, age=2, prompt=(True, 1, -FAR)),
    calls.Decode(cache=1, age=2, token_id=False),
    calls.Reset(cache=1, age=2),
    calls.Close(cache=1, age=2),
    calls.Step(decoder=1, seed=2, scale=0.1, flaw=Flaw(kind="nan", index=3)),
    calls.Train(decoder=1, tokens=(0, True), targets=(FAR, 1)),
    calls.Generate(
        decoder=1,
        prompt=(0,),
        sampling=Sampling(temperature="nan", k=FAR),
        eos_token=True,
        max_new_tokens=0,
        rng_state=2**64 - 1,
    ),
)
"""One call of each kind, with no field at its default."""
