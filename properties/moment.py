"""``Moment``: one call of a run, what it was answered, and what was due."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from functools import cached_property
from typing import Final

import numpy as np

from engine import DecoderConfig, LayerRows, StageFailed
from engine.arrays import Array, Vector
from properties.allowed import Allowed
from properties.calls import Call, Decode, Generate, Prefill
from properties.choices import DueGeneration
from properties.model import Model
from properties.oracle import LoneRun, Oracle, bits_of_rows
from properties.points import Point
from properties.replayed import Replayed
from properties.subject import Answer, Observation, Subject
from reference.session import CacheModel, Content

NOTHING: Final = 0.0
"""What storage holds before anybody writes."""

FOREIGN: Final = math.nan
"""What the judge puts into rows outside the prefix: no sum can take it and hide it."""


_WIDEST: Final = np.dtype(np.float64).itemsize


class Event(StrEnum):
    """What may have come between two answers of a cache, and must not matter."""

    RESET = "a reset"
    REBIND = "closing and binding again"
    REFUSAL = "a refused call"
    FAULT = "a failed call"
    SECOND_FAULT = "two failed calls"
    OTHERS = "calls on other caches"
    COPY = "being copied"
    STEP = "an optimizer step before the cache was made"


class Met(Enum):
    """How a call was met; most laws have something to say of some of these only."""

    LOGITS = auto()  # by logits, as was due
    DONE = auto()  # by another answer, as was due
    REFUSED = auto()  # by a refusal or failure, as was due
    DISAGREED = auto()  # by an answer where none was due, or by no such answer
    END = auto()  # no call: the run is over, and all stands as the last one left it


@dataclass(kw_only=True, eq=False)
class Moment:
    """All that a law may look at, right after a call and before the next.

    Attributes:
        call: what was called
        is_closing: whether the judge has added it to the script
        cache: the cache in focus: the one that the call names, or was named last
        due: the refusal or failure that the call must meet, if any
        struck: the point at which a planned fault must end it, if one must
        came: what it was answered, or what was raised
        injected: where a fault was put in, and what
        bits: of the logits, right when they came
        before: the subject before the call
        after: the subject after the call
        model: as the call must have left it
        oracle: of the decoder as it was when the cache in focus was made
        ahead: the history in focus, and what the script will add to it
        is_followed: whether the next call on this cache gives logits, if no fault ends
            it
        length_before: of the cache in focus
        rows_before: of the cache in focus
        storage: identities of its buffers, when it was made
        since: what has come since the last answer of this cache that was right
        scores: of this sequence, the score values of each answer by length
        generation: the one that is due
        outputs: every logits so far, and their bits when they were returned
        is_over: whether the run is, and this is about the last call once more
    """

    call: Call
    is_closing: bool
    cache: int
    due: BaseException | None
    struck: Point | None
    came: Answer | BaseException
    injected: tuple[Point | None, BaseException | None]
    bits: bytes
    before: Observation
    after: Observation
    model: Model
    subject: Subject
    oracle: Oracle
    ahead: tuple[int, ...]
    is_followed: bool
    length_before: int
    rows_before: Sequence[LayerRows]
    storage: Sequence[tuple[int, int]]
    since: frozenset[Event]
    scores: Sequence[tuple[int, int]]
    generation: DueGeneration | None
    outputs: Sequence[tuple[Array, bytes]]
    is_over: bool

    @cached_property
    def met(self) -> Met:
        """How the call was met."""
        if self.is_over:
            return Met.END
        if not isinstance(self.came, Answer):
            return Met.DISAGREED if self.due is None else Met.REFUSED
        if self.due is not None or not is_whole(self.call, self.came):
            return Met.DISAGREED
        return Met.LOGITS if isinstance(self.call, Prefill | Decode) else Met.DONE

    @property
    def surprise(self) -> BaseException | None:
        """What was raised where nothing had to be."""
        came = self.came
        return came if self.due is None and isinstance(came, BaseException) else None

    @property
    def has_failed(self) -> bool:
        """Whether the call had to fail on its way, and was not refused."""
        return self.struck is not None or isinstance(self.due, StageFailed)

    @property
    def answer(self) -> Answer:
        """What came, where that is an answer."""
        assert isinstance(self.came, Answer)
        return self.came

    @property
    def logits(self) -> Vector:
        """(vocab_size,), where logits came."""
        assert self.answer.logits is not None
        return self.answer.logits

    @property
    def kept(self) -> CacheModel:
        """The cache in focus, as the call must have left it."""
        return self.model.caches[self.cache]

    @property
    def content(self) -> Content:
        """Its tokens."""
        return self.kept.content

    @property
    def config(self) -> DecoderConfig:
        """Its configuration."""
        return self.kept.config

    @property
    def ends_sequence(self) -> bool:
        """Whether these logits are the last ones of their history."""
        return self.content.history == self.ahead

    @cached_property
    def replayed(self) -> Replayed:
        """A replay that begins with the history."""
        return self.oracle.replay(self.content.history, self.ahead)

    @cached_property
    def error(self) -> float:
        """The largest difference of the logits, as a share of the bound."""
        known, key = self.oracle.errors, (self.content.history, self.ahead, self.bits)
        if key not in known:
            known[key] = self.newest.share(self.logits)
        return known[key]

    @property
    def newest(self) -> Allowed:
        """The logits that are due."""
        return self.replayed.due.logits(self.content.length)

    @cached_property
    def rows(self) -> Sequence[LayerRows]:
        """What the cache in focus holds."""
        return self.subject.rows(self.cache)

    @cached_property
    def row_bits(self) -> tuple[bytes, ...]:
        """The same to the bit, keys and values of every block."""
        return bits_of_rows(self.rows)

    @property
    def lone(self) -> LoneRun:
        """The same tokens, split alike, on a fresh engine that does nothing else."""
        return self.oracle.lone(self.ahead, self.content.n_prompt, NOTHING)

    @property
    def lone_and_foul(self) -> LoneRun:
        """The same with foreign bits outside the prefix, as they are in this run."""
        return self.oracle.lone(self.ahead, self.content.n_prompt, FOREIGN)

    @property
    def is_undisturbed(self) -> bool:
        """Whether the logits are the lone run's to the bit."""
        return self.bits == self.bits_in(self.lone)

    def bits_in(self, run: LoneRun) -> bytes:
        """Those of the logits at this answer's length."""
        return run.logits[self.content.length - self.content.n_prompt]


def is_whole(call: Call, answer: Answer) -> bool:
    """Whether the answer has what was asked for; what else it has, nobody asks."""
    match call:
        case Prefill() | Decode():
            logits: object = answer.logits
            if not isinstance(logits, np.ndarray):
                return False
            dtype = np.dtype(logits.dtype)
            return dtype.kind == "f" and dtype.itemsize <= _WIDEST
        case Generate():
            return answer.generation is not None
        case _:
            return True
