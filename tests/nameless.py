"""Calls that name what does not exist, on a decoder and a cache."""

from typing import Final

from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
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
    Restore,
    Step,
    Train,
)
from tests.any_script import FAR
from tests.models import TINY, decoder_of

N_PARAMETERS: Final = len(decoder_of().parameters)

MISSING: Final = {
    "decoder of a decoder": (NewDecoder(decoder=1), "no decoder 1"),
    "decoder of a restore": (Restore(decoder=1), "no decoder 1"),
    "decoder of a cache": (NewCache(decoder=1), "no decoder 1"),
    "decoder of a bind": (Bind(decoder=1), "no decoder 1"),
    "decoder of a twin": (BindRebuilt(decoder=1, rebuilt=(0,)), "no decoder 1"),
    "decoder of a change": (
        BindChanged(decoder=1, changes=Changes(d_ff=2)),
        "no decoder 1",
    ),
    "decoder of a step": (Step(decoder=1), "no decoder 1"),
    "decoder of a loss": (Train(decoder=1, tokens=(), targets=()), "no decoder 1"),
    "decoder of a generation": (Generate(decoder=1, prompt=()), "no decoder 1"),
    "cache of a copy": (Copy(cache=1), "no cache 1"),
    "cache of a bind": (Bind(cache=1), "no cache 1"),
    "cache of a twin": (BindRebuilt(cache=FAR, rebuilt=(0,)), f"no cache {FAR}"),
    "cache of a change": (BindChanged(cache=1, changes=Changes(d_ff=2)), "no cache 1"),
    "cache of a prefill": (Prefill(cache=1, prompt=()), "no cache 1"),
    "cache of a decode": (Decode(cache=1, token_id=0), "no cache 1"),
    "cache of a reset": (Reset(cache=1), "no cache 1"),
    "cache of a close": (Close(cache=1), "no cache 1"),
    "age of a prefill": (Prefill(age=1, prompt=()), "cache 0 has had 1 sessions"),
    "age of a decode": (Decode(age=1, token_id=0), "cache 0 has had 1 sessions"),
    "age of a reset": (Reset(age=1), "cache 0 has had 1 sessions"),
    "age of a close": (Close(age=FAR), "cache 0 has had 1 sessions"),
    "parameter of a decoder": (
        NewDecoder(rebuilt=(0, N_PARAMETERS)),
        f"no parameter {N_PARAMETERS}",
    ),
    "parameter of a twin": (
        BindRebuilt(rebuilt=(N_PARAMETERS, 0)),
        f"no parameter {N_PARAMETERS}",
    ),
    "parameter of a flaw": (
        Step(flaw=Flaw(kind="missing", index=N_PARAMETERS)),
        f"no parameter {N_PARAMETERS}",
    ),
    "no change": (BindChanged(changes=Changes()), "the changes change nothing"),
    "an equal change": (
        BindChanged(changes=Changes(d_ff=TINY.d_ff)),
        "the changes change nothing",
    ),
    "an odd head": (BindChanged(changes=Changes(d_model=3)), "an odd head width"),
}
