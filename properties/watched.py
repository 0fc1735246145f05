"""What is kept of each cache beside the model, from one call to the next."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from engine import LayerRows
from properties.calls import Bind, Call, Copy, Decode, NewCache, Prefill, Reset
from properties.due import OracleOf
from properties.model import Model
from properties.moment import Event
from properties.oracle import Oracle
from properties.subject import Answer, Subject


@dataclass(slots=True, eq=False)
class Watched:
    """What is kept of one cache, beside the model.

    Attributes:
        oracle: of the decoder as it was when the cache was made
        storage: identities of its buffers, when it was made
        rows: as they were after the last call
        since: what has come since its last answer that was right
        scores: of this sequence, the score values of each answer by length
    """

    oracle: Oracle
    storage: Sequence[tuple[int, int]]
    rows: Sequence[LayerRows] = ()
    since: set[Event] = field(default_factory=set)
    scores: list[tuple[int, int]] = field(default_factory=list)


class Watch:
    """Every cache of a run, by its number."""

    def __init__(self, model: Model, subject: Subject, oracle_of: OracleOf) -> None:
        self._model = model
        self._subject = subject
        self._oracle_of = oracle_of
        self._caches = list[Watched]()
        self._begin()

    def __getitem__(self, cache: int) -> Watched:
        return self._caches[cache]

    def answered(self, call: Call, cache: int, answer: Answer) -> None:
        """Count the score values that an answer tells."""
        scores = self._caches[cache].scores
        if isinstance(call, Prefill):
            scores.clear()
        if answer.attention_scores is not None:
            length = self._model.caches[cache].length
            scores.append((length, answer.attention_scores))

    def refused(self) -> None:
        """A call was refused, which no cache may notice."""
        for watched in self._caches:
            watched.since.add(Event.REFUSAL)

    def failed(self) -> None:
        """A call failed on its way, which no cache may notice either."""
        for watched in self._caches:
            if Event.FAULT in watched.since:
                watched.since.add(Event.SECOND_FAULT)
            watched.since.add(Event.FAULT)

    def made(self, call: Call, cache: int) -> None:
        """A call was made, and this is what came between now."""
        watched = self._caches[cache]
        match call:
            case NewCache():
                self._begin()
            case Copy():
                storage = self._subject.storage(len(self._caches))
                since, scores = {Event.COPY, *watched.since}, [*watched.scores]
                copy = replace(watched, storage=storage, since=since, scores=scores)
                self._caches.append(copy)
            case Prefill() | Decode() | Reset():
                for each in self._caches:
                    if each is not watched:
                        each.since.add(Event.OTHERS)
                if isinstance(call, Reset):
                    watched.since.add(Event.RESET)
                    watched.scores.clear()
            case Bind():
                if len(self._model.caches[cache].sessions) > 1:
                    watched.since.add(Event.REBIND)
            case _:
                pass

    def _begin(self) -> None:
        """Watch the newest cache of the model."""
        cache = len(self._caches)
        made = self._model.caches[cache]
        oracle = self._oracle_of(made.config, self._model.weights_of[cache])
        watched = Watched(oracle, self._subject.storage(cache))
        if any(made.revisions):
            watched.since.add(Event.STEP)
        self._caches.append(watched)
