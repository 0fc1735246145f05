"""Threads in one session: each call is refused, or happens as if it were alone."""

import math
from collections import Counter
from collections.abc import Sequence
from copy import copy
from functools import partial
from itertools import chain, combinations, count, product
from operator import methodcaller
from secrets import choice, randbelow
from typing import Final

from engine import Decoder, KVCache, SessionBusy
from properties.inconsistency import Inconsistent
from properties.lives import PROMPT, new_decoder
from properties.threads.in_turn import InTurn, Made, Move, left_of, made
from properties.threads.together import give_way, run_together

N_THREADS: Final = 3
N_MOVES: Final = 6  # of a thread, before all of them are looked at
MOST: Final = 20
"""Rounds for each that was asked for, until calls have met often enough."""

_BUSY: Final = (SessionBusy, ())
_MOVES: Final = (
    *(Move(f"decode {token}", methodcaller("decode", token)) for token in range(4)),
    Move("prefill", methodcaller("prefill", PROMPT)),
    Move("prefill of one", methodcaller("prefill", (4,))),
    Move("reset", methodcaller("reset")),
    Move("fill spare", lambda session: session.cache.fill_spare(math.nan)),
)
_CLOSE: Final = Move("close", methodcaller("close"), closes=True)
_SELDOM: Final = 32
"""One move of so many closes the session, and all later ones are refused."""


def hunt_in_one_session(n_rounds: int) -> Counter[str]:
    """Make moves in one session at once, round after round, and explain each round.

    Returns:
        ``overlaps`` of two calls, calls that were ``refused`` for them, and
        ``answers`` that were compared.

    Raises:
        Inconsistent: no order explains a round; or calls met too seldom.
    """
    decoder, counts = new_decoder(), Counter[str]()
    for n_done in range(1, MOST * n_rounds + 1):
        counts.update(_round(decoder))
        if n_done >= n_rounds and counts["refused"] >= n_rounds:
            return counts
    raise Inconsistent(f"calls met too seldom in one session: {dict(counts)}")


def _round(decoder: Decoder) -> dict[str, int]:
    cache = KVCache(decoder)
    session = cache.bind(decoder, choice((None, give_way)))
    session.prefill(PROMPT)
    alone = InTurn(copy(cache), decoder)
    threads: list[list[Made]] = [[] for _ in range(N_THREADS)]
    ticks = count()

    def move_on(mine: list[Made]) -> None:
        for _ in range(N_MOVES):
            move = choice(_MOVES) if randbelow(_SELDOM) else _CLOSE
            mine.append(made(move, session, ticks))

    run_together(*(partial(move_on, mine) for mine in threads))

    met = _meetings(threads)
    done = [[each for each in moves if each.came != _BUSY] for moves in threads]
    if not alone.explains(done, left_of(cache, decoder)):
        shown = "\n".join(str(each) for moves in threads for each in moves)
        raise Inconsistent(f"no order of these calls gives their answers:\n{shown}")
    answers = sum(map(len, done))
    refused = N_THREADS * N_MOVES - answers
    return {"overlaps": len(met), "refused": refused, "answers": answers}


def _meetings(threads: Sequence[Sequence[Made]]) -> list[tuple[Made, Made]]:
    """Pairs that overlapped; what met nobody must not be refused for company."""
    met = [
        pair
        for one, other in combinations(threads, 2)
        for pair in product(one, other)
        if pair[0].overlaps(pair[1])
    ]
    in_company = {id(each) for pair in met for each in pair}
    for each in chain.from_iterable(threads):
        if each.came == _BUSY and id(each) not in in_company:
            raise Inconsistent(f"refused for company that it had not: {each}")
    return met
