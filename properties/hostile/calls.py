"""Every public call, and what each has to be answered when its input is hostile."""

from collections.abc import Mapping
from typing import Final

from properties.hostile.model_calls import FILES, MODELS, RECORDS, STEPS
from properties.hostile.session_calls import CACHES, GENERATIONS, LOSSES, SESSIONS

PLACES: Final = (
    *SESSIONS,
    *CACHES,
    *GENERATIONS,
    *LOSSES,
    *STEPS,
    *MODELS,
    *RECORDS,
    *FILES,
)

_ALL: Final = ("returned", "refused", "TypeError", "own")
OUTCOMES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("prefill", "decode", "generate", "loss_and_gradients"), _ALL),
    **dict.fromkeys(("KVCache", "step", "initialize"), _ALL),
    **dict.fromkeys(("DecoderConfig", "AdamWConfig"), _ALL),
    "fill_spare": ("returned", "TypeError", "own", "system"),
    "bind": ("returned", "refused", "TypeError"),
    "AdamW": ("TypeError",),
    "Parameter": ("returned", "TypeError", "own", "system"),
    "Decoder": ("refused", "TypeError", "own"),
    "SplitMix64": ("returned", "refused", "own"),
    "save": ("returned", "refused", "TypeError", "own", "system"),
    "load": ("refused", "TypeError", "own", "system"),
}
"""By call, how a hostile one may end, and does in every longer run."""
