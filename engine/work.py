"""``Work``: the six counters of what a cache has committed."""

import operator
from typing import Final, NamedTuple

from engine.config import DecoderConfig, exact_int
from engine.errors import InvalidConfig, WorkOverflow

MAX_COUNT: Final = 2**64 - 1


class Work(NamedTuple):
    """Exact counts of committed work.

    A named tuple, because every decode makes one. It holds what it is given; whoever
    accepts one from a caller asks for it ``validated``.
    """

    token_forwards: int = 0
    prefill_tokens: int = 0
    decode_tokens: int = 0
    cache_appends: int = 0
    qkv_projection_rows: int = 0
    attention_scores: int = 0

    def validated(self) -> "Work":
        """These counters as plain integers.

        Raises:
            InvalidConfig: one is no integer from 0 to 2^64 - 1.
        """
        counts = []
        for field, given in self._asdict().items():
            counts.append(exact_int(field, given, 0))
            if counts[-1] > MAX_COUNT:
                raise InvalidConfig(field, given, "must be at most 2^64 - 1")
        return Work(*counts)

    def require_room(self, more: "Work") -> None:
        """Refuse what ``plus`` would.

        Raises:
            WorkOverflow: the first counter that would pass 2^64 - 1; nothing changed.
        """
        if max(self) + max(more) > MAX_COUNT:  # a bound; the sums decide
            self.plus(more)

    def plus(self, more: "Work") -> "Work":
        """The sums of two records.

        Raises:
            WorkOverflow: the first counter that would pass 2^64 - 1; nothing changed.
        """
        total = Work._make(map(operator.add, self, more))
        if max(total) > MAX_COUNT:
            over = [count > MAX_COUNT for count in total].index(True)
            raise WorkOverflow(self._fields[over])
        return total


def prefill_work(config: DecoderConfig, n_tokens: int, attention_scores: int) -> Work:
    """What committing a prompt adds."""
    return Work(
        token_forwards=n_tokens,
        prefill_tokens=n_tokens,
        cache_appends=n_tokens * config.n_layers,
        qkv_projection_rows=3 * n_tokens * config.n_layers,
        attention_scores=attention_scores,
    )


def decode_work(config: DecoderConfig, attention_scores: int) -> Work:
    """What committing one decoded row adds."""
    return Work(
        token_forwards=1,
        decode_tokens=1,
        cache_appends=config.n_layers,
        qkv_projection_rows=3 * config.n_layers,
        attention_scores=attention_scores,
    )


def scores_between(config: DecoderConfig, start: int, end: int) -> int:
    """Score values of the rows that take a prefix from one length to another."""
    rows = (end * (end + 1) - start * (start + 1)) // 2
    return config.n_layers * config.n_heads * rows
