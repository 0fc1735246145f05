"""What one decoder's tokens amount to: by replay, and on a fresh engine by itself."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from engine import DecoderConfig, LayerRows, StageFailed
from engine.arrays import Array
from properties.calls import Call, Decode, Prefill
from properties.difference import bits_of
from properties.edges import Edges
from properties.replayed import Replayed, wider_than
from properties.script import LARGE_STEP
from properties.subject import Make, Offer


class LoneRun(NamedTuple):
    """The bits of a run that nothing came between.

    Attributes:
        logits: of each length from the prompt's on; or what was raised instead
        rows: keys and values of every block at the end
    """

    logits: tuple[bytes, ...]
    rows: tuple[bytes, ...]


class Oracle:
    """One configuration and one set of weights; every answer is pure and remembered.

    Args:
        make: the engine under test, for the lone runs
        config: sizes and constants
        weights: values by name

    Attributes:
        errors: of logits, as a share of the bound; by history, what was ahead, bits
        sound: histories with bits of rows that were compared and found right
        true: the same of histories, what was ahead, logits and rows, and the truth
    """

    def __init__(
        self, make: Make, config: DecoderConfig, weights: Mapping[str, Array]
    ) -> None:
        self._make = make
        self._config = config
        self._weights = weights
        self._replays: dict[tuple[int, ...], Replayed | StageFailed] = {}
        self.errors: dict[tuple[tuple[int, ...], tuple[int, ...], bytes], float] = {}
        self.sound = set[tuple[tuple[int, ...], tuple[bytes, ...]]]()
        self.true = set[tuple[object, ...]]()
        self._runs: dict[tuple[tuple[int, ...], int, float], LoneRun] = {}

    def replay(self, history: tuple[int, ...], ahead: tuple[int, ...]) -> Replayed:
        """A replay whose first positions are those of the history.

        No position sees a later one, so a replay of more tokens has them too: what is
        known of the script's future, ``ahead``, is replayed once for all its prefixes.

        Raises:
            StageFailed: the history cannot be computed; its first row that fails says
                where, as an engine meets it.
        """
        if failing := self.failing(history, ahead):
            raise failing[1]
        if ahead[: len(history)] == history:
            known = self._remembered(ahead)
            if isinstance(known, Replayed):
                return known
        return self.replay_whole(history)

    def failing(
        self, history: tuple[int, ...], ahead: tuple[int, ...]
    ) -> tuple[int, StageFailed] | None:
        """The first position that cannot be computed, and how it fails."""
        if isinstance(self._replays.get(history), Replayed):
            return None
        begins_so = ahead[: len(history)] == history
        if begins_so and isinstance(self._remembered(ahead), Replayed):
            return None
        for position in range(len(history)):
            known = self._remembered(history[: position + 1])
            if isinstance(known, StageFailed):
                return position, known
        return None

    def replay_whole(self, tokens: tuple[int, ...]) -> Replayed:
        """A replay that goes stage by stage through all rows, as a loss does.

        Raises:
            StageFailed: the first stage that fails at any row.
        """
        whole = self._remembered(tokens)
        if isinstance(whole, StageFailed):
            raise whole
        return whole

    def can_replay(self, tokens: tuple[int, ...]) -> bool:
        """Whether no stage fails on the way; of no tokens, none does."""
        return not tokens or isinstance(self._remembered(tokens), Replayed)

    def can_fail(self, history: tuple[int, ...], start: int, came: StageFailed) -> bool:
        """Whether it depends on rounding that rows from a position on fail so."""
        place = came.stage, came.layer
        edges = self._edges
        return edges is not None and edges.can_fail(history, start, place)

    def can_fail_whole(self, tokens: tuple[int, ...], came: StageFailed) -> bool:
        """The same stage by stage through all rows."""
        place = came.stage, came.layer
        edges = self._edges
        return edges is not None and edges.can_fail_whole(tokens, place)

    def can_pass(self, history: tuple[int, ...]) -> bool:
        """Whether it depends on rounding that rows fail; from now on, they do not."""
        wider = wider_than(self._config)
        edges = self._edges
        if wider is None or edges is None or not edges.can_pass(history):
            return False
        self._replays[history] = Replayed.in_dtype(
            self._config, self._weights, history, wider
        )
        return True

    def lone(self, tokens: tuple[int, ...], n_prompt: int, spare: float) -> LoneRun:
        """A fresh engine that reads a prompt and decodes the rest, and nothing else.

        Args:
            tokens: prompt and decoded ones
            n_prompt: how many are the prompt's
            spare: what lies in the rows outside the prefix
        """
        key = (tokens, n_prompt, spare)
        if key not in self._runs:
            self._runs[key] = self._run(tokens, n_prompt, spare)
        return self._runs[key]

    @cached_property
    def _edges(self) -> Edges | None:
        """None where no wider dtype tells."""
        wider = wider_than(self._config)
        return None if wider is None else Edges(self._config, self._weights, wider)

    def _remembered(self, tokens: tuple[int, ...]) -> Replayed | StageFailed:
        if tokens not in self._replays:
            try:
                replayed = Replayed.of(self._config, self._weights, tokens)
                self._replays[tokens] = replayed
            except StageFailed as failure:
                self._replays[tokens] = failure
        return self._replays[tokens]

    def _run(self, tokens: tuple[int, ...], n_prompt: int, spare: float) -> LoneRun:
        subject = self._make(self._config, self._weights, LARGE_STEP)
        if Offer.SPARE in subject.offers:
            subject.foul(0, spare)
        logits = list[bytes]()
        calls: list[Call] = [Prefill(prompt=tokens[:n_prompt])]
        calls += [Decode(token_id=token_id) for token_id in tokens[n_prompt:]]
        for call in calls:
            try:
                logits.append(bits_of(subject.perform(call).logits))
            except Exception as error:  # noqa: BLE001 # whatever it is, it is no logits
                logits.append(repr(error).encode())
        return LoneRun(tuple(logits), bits_of_rows(subject.rows(0)))


def bits_of_rows(rows: Sequence[LayerRows]) -> tuple[bytes, ...]:
    """Keys and values of every block, to the bit."""
    return tuple(
        [bits_of(each) for block in rows for each in (block.keys, block.values)]
    )
