"""What a bound sees of a corrupted cache, and what the rules of others see of it.

A right engine prefills a prompt. One vector of its cache is corrupted, each in turn and
in every way, and five decodes go on from there, along the tokens that the engine itself
chooses. Counted is what the bound rejects, by the rows at once and by the logits of the
first decode alone, and what the rules of others reject of these decodes. So is what
they all reject of the engine's own rows and logits, of which nothing is wrong.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from engine import SplitMix64
from engine.arrays import Array
from properties.allowed import Allowed
from properties.continuation import Copies, decoded
from properties.corruptions import CORRUPTIONS
from properties.field_rules import FIELD_RULES
from properties.inconsistency import Inconsistent
from properties.prefilled import Prefilled

ROWS: Final = "bound, rows"
LOGITS: Final = "bound, logits"
RULES: Final = (ROWS, LOGITS, *FIELD_RULES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What the rules said of some vectors, or of some whole caches.

    Attributes:
        n_judged: how many there were
        n_equal: vectors that the corruption left as they were; they are not judged
        rejected: how many of those judged, by rule
    """

    n_judged: int = 0
    n_equal: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            n_judged=self.n_judged + other.n_judged,
            n_equal=self.n_equal + other.n_equal,
            rejected=self.rejected + other.rejected,
        )


def sound(case: Prefilled) -> Tally:
    """What is said of an engine of which nothing is wrong: false alarms."""
    rejected = _rejections(case, case.logits, is_row_missed=case.misses_rows())
    return Tally(n_judged=1, rejected=rejected)


def corrupted(
    case: Prefilled, seed: int, n_vectors: int | None = None
) -> dict[str, Tally]:
    """What is said of each corruption of the vectors of a cache.

    Args:
        case: its rows are sound
        seed: of the directions in which vectors are moved, and of which are chosen
        n_vectors: so many of each block's keys, and of its values; all, if not told

    Raises:
        Inconsistent: the decodes that go on from sound rows are not the engine's.
    """
    _require_sound(case)
    rng, tallies = SplitMix64(seed), dict.fromkeys(CORRUPTIONS, Tally())
    for layer, allowed in enumerate(case.allowed()):
        rows = case.rows[layer]
        for which, sound_rows in enumerate((rows.keys, rows.values)):
            made = np.stack([each(sound_rows, rng) for each in CORRUPTIONS.values()])
            order = np.argsort(rng.units(sound_rows[..., 0].size))
            part = _Part(layer, which, sound_rows, made, order[:n_vectors])
            for name, tally in _tallied(case, part, allowed[which]):
                tallies[name] += tally
    return tallies


class _Part(NamedTuple):
    """A block's keys (0) or values (1), and what is to become of them.

    Attributes:
        layer: of the block
        which: keys or values
        rows: (n_kv_heads, length, head_dim), sound
        made: each vector corrupted, (n_corruptions, n_kv_heads, length, head_dim)
        chosen: flat indices of the vectors that are taken
    """

    layer: int
    which: int
    rows: Array
    made: Array
    chosen: np.ndarray[tuple[int], np.dtype[np.int64]]


def _tallied(
    case: Prefilled, part: _Part, allowed: tuple[Allowed, ...]
) -> Iterator[tuple[str, Tally]]:
    """Each corruption of each chosen vector, in a copy of the cache of its own."""
    rows, made, names = part.rows, part.made, list(CORRUPTIONS)
    is_chosen = np.zeros(rows.shape[:-1], bool)
    is_chosen.flat[part.chosen] = True
    is_changed = (made != rows).any(axis=-1)
    for name, changed in zip(names, is_changed, strict=True):
        yield name, Tally(n_equal=int(np.count_nonzero(is_chosen & ~changed)))
    places = np.argwhere(is_chosen & is_changed).tolist()
    copies = np.repeat(rows[None], len(places), axis=0)
    for copy, (kind, *place) in zip(copies, places, strict=True):
        copy[tuple(place)] = made[kind, *place]
    logits = _decoded(case, part, copies)
    for came, (kind, *place) in zip(logits, places, strict=True):
        is_missed = any(
            Allowed(each.due[*place], each.bound[*place]).share(made[kind, *place]) > 1
            for each in allowed
        )
        rejected = _rejections(case, came, is_row_missed=is_missed)
        yield names[kind], Tally(n_judged=1, rejected=rejected)


def _decoded(case: Prefilled, part: _Part, copies: Array) -> Array:
    """The steps' logits where one block's keys or values are copies that differ."""
    blocks = case.blocks
    pair = [*blocks[part.layer]]
    pair[part.which] = copies
    blocks[part.layer] = Copies(*pair)
    decoder = case.model.decoder
    return decoded(decoder.config, decoder.weights, blocks, case.chosen)


def _rejections(case: Prefilled, logits: Array, *, is_row_missed: bool) -> Counter[str]:
    """The rules that reject."""
    found = {ROWS: is_row_missed, LOGITS: case.misses_logits(logits[0])}
    found |= {name: rule(case.replay, logits) for name, rule in FIELD_RULES.items()}
    return Counter(name for name, rejects in found.items() if rejects)


def _require_sound(case: Prefilled) -> None:
    decoder = case.model.decoder
    (logits,) = decoded(decoder.config, decoder.weights, case.blocks, case.chosen)
    if case.misses_logits(logits[0]):
        where = f"decodes from sound rows of {case.model.name}"
        raise Inconsistent(f"{where} are not those of {decoder.config}")
