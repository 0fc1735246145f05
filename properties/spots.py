"""What there is to compare of one call, row by row, in the order in which it was made.

A row meets its stages; after the rotation of the keys, what was cached of them and of
the values. What was cached before the call comes first, and what it answered last.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from engine import LayerRows, Stage
from engine.stages import Place, row_places
from properties.allowed import Allowed
from properties.calls import Decode, Generate, Prefill
from properties.due import OracleOf
from properties.moment import Moment
from properties.recorded import Values
from properties.replayed import Replayed
from properties.subject import Answer, Offer
from reference.replay import Reals

CACHED: Final = ("cached keys", "cached values")
ANSWER: Final = "answer"
OF_KEYS: Final = (Stage.SCORES, Stage.WEIGHTS)
"""Here a number is about a key, and not about a feature."""

OF_TOKENS: Final = (Stage.LOGITS, ANSWER)
"""Here it is about a token."""

_PROJECTED: Final = (Stage.QUERY, Stage.KEY, Stage.VALUE)
"""A replay records rows of these; heads are told all the same."""

_BY_HEAD: Final = (Stage.QUERY_ROTATION, Stage.KEY_ROTATION, Stage.MIXTURE)


class Spot(NamedTuple):
    """What one row has in one place.

    Attributes:
        place: a stage, or what was cached or answered, and its block
        position: of the row
        allowed: (elements,) or (heads, elements)
        came: as many numbers in any shape; none if nothing came
    """

    place: tuple[str, int | None]
    position: int
    allowed: Allowed
    came: Reals | None


_Block: TypeAlias = tuple[tuple[Allowed, Allowed], LayerRows]


class _Held(NamedTuple):
    """What a call leaves to look at.

    Attributes:
        replayed: of all its tokens
        first: the position of the first row that it computed
        length: of all rows
        blocks: of each, keys and values that are due and that are cached, if they can
            be seen
        logits: the newest ones, if any are due
    """

    replayed: Replayed
    first: int
    length: int
    blocks: Sequence[_Block] = ()
    logits: tuple[Reals | None, ...] = ()


def spots(
    moment: Moment,
    values: Values,
    oracle_of: OracleOf,
    beside: Callable[[Replayed], Replayed | None] = lambda replayed: replayed,
) -> Iterator[Spot]:
    """All that there is; nothing of a call that had to fail on its way.

    Args:
        moment: right after the call
        values: what its stages made; none if no probe can look
        oracle_of: a decoder's, for a generation
        beside: what the engine's numbers are compared with, of what is due
    """
    held = _held(moment, oracle_of, beside)
    if held is None:
        return
    n_layers = held.replayed.config.n_layers
    for position, block in np.ndindex(held.first, n_layers):
        yield from _cached(held, block, position)
    for position in range(held.first, held.length):
        for stage, layer in row_places(n_layers):
            if values:
                allowed = _allowed(held.replayed, (stage, layer), position)
                came = values.get(((stage, layer), position))
                yield Spot((stage, layer), position, allowed, came)
            if stage is Stage.KEY_ROTATION and layer is not None:
                yield from _cached(held, layer, position)
    for logits in held.logits:
        due = held.replayed.due.logits(held.length)
        yield Spot((ANSWER, None), held.length - 1, due, logits)


def _held(
    moment: Moment,
    oracle_of: OracleOf,
    beside: Callable[[Replayed], Replayed | None],
) -> _Held | None:
    call, came, length = moment.call, moment.came, moment.content.length
    is_own = isinstance(call, Generate)
    if moment.due is not None or not (is_own or length):
        return None
    replayed = beside(
        _generated(call, moment, oracle_of)
        if isinstance(call, Generate)
        else moment.replayed
    )
    if replayed is None:
        return None
    if is_own:
        return _Held(replayed, 0, len(replayed.tokens))
    held = _Held(replayed, moment.length_before, length)
    if not isinstance(came, Answer):
        return held
    if Offer.ROWS in moment.subject.offers:
        due = replayed.due.rows(length)
        held = held._replace(blocks=tuple(zip(due, moment.rows, strict=True)))
    if isinstance(call, Prefill | Decode):
        held = held._replace(logits=(came.logits,))
    return held


def _generated(call: Generate, moment: Moment, oracle_of: OracleOf) -> Replayed:
    """Of the tokens that were chosen; whether these had to be is the law P6's.

    A generation's cache is its own: only a probe sees those rows.
    """
    config, came = moment.model.decoders[call.decoder].config, moment.came
    tokens = tuple(map(int, call.prompt))
    if isinstance(came, Answer) and came.generation is not None:
        tokens += came.generation.generated[:-1]
    oracle = oracle_of(config, moment.model.weights(call.decoder))
    return oracle.replay_whole(tokens)


def _cached(held: _Held, layer: int, position: int) -> Iterator[Spot]:
    """One block's key and value at a position."""
    for dues, rows in held.blocks[layer : layer + 1]:
        pairs = zip(CACHED, dues, (rows.keys, rows.values), strict=True)
        for name, (due, bound), cached in pairs:
            allowed = Allowed(due[:, position], bound[:, position])
            came = cached[:, position] if position < cached.shape[1] else None
            yield Spot((name, layer), position, allowed, came)


def _allowed(replayed: Replayed, place: Place, position: int) -> Allowed:
    """One row's share of a stage; of keys, those that it sees."""
    stage, shape = place[0], (-1, replayed.config.head_dim)
    due = replayed.recorded[place]
    bound = replayed.due.n_bounds * replayed.bounds.at[place]
    if stage in OF_KEYS:
        newest = position, slice(position + 1)
        return Allowed(due[:, *newest], bound[:, *newest])
    if stage in _BY_HEAD:
        return Allowed(due[:, position], bound[:, position])
    if stage in _PROJECTED:
        return Allowed(due[position].reshape(shape), bound[position].reshape(shape))
    return Allowed(due[position], bound[position])
