"""One run: makes a script's calls on an engine and on the model, side by side."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from engine import DecoderConfig, LayerRows, StageFailed
from engine.arrays import Array
from properties.calls import (
    Bind,
    Call,
    Copy,
    Decode,
    Generate,
    NewCache,
    Prefill,
    Reset,
    Step,
    Train,
)
from properties.choices import DueGeneration, due_generation
from properties.difference import bits_of
from properties.model import Model
from properties.moment import FOREIGN, Event, Moment
from properties.oracle import Oracle
from properties.rehearsal import Planned
from properties.script import Script
from properties.subject import Answer, Observation, Offer, Subject
from properties.tolerance import share_of_bound
from reference.session import CacheModel, check_training

OracleOf: TypeAlias = Callable[[DecoderConfig, Mapping[str, Array]], Oracle]


class Seen(NamedTuple):
    """One call that was judged and found right.

    Attributes:
        call: what was called
        outcome: ``done``, or the class of the error that was due and came
        before: the cache in focus before the call, in a few words
        after: the same afterwards
        length: of its prefix afterwards
        error: the largest difference of logits, as a share of the bound
    """

    call: Call
    outcome: str
    before: str
    after: str
    length: int
    error: float


class Trial:
    """A script under way.

    Attributes:
        seen: the script's own calls so far
        closing: the judge's calls so far
        n_unsure: generations that rounding may have ended otherwise
    """

    def __init__(
        self,
        script: Script,
        weights: Mapping[str, Array],
        subject: Subject,
        oracle_of: OracleOf,
    ) -> None:
        self.model = Model(script.config, weights, script.optimizer)
        self.seen = list[Seen]()
        self.closing = list[Seen]()
        self.n_unsure = 0
        self._subject = subject
        self._oracle_of = oracle_of
        self._oracles = [oracle_of(script.config, weights)]
        self._rows: list[Sequence[LayerRows]] = [()]
        self._since: list[set[Event]] = [set()]
        self._scores: list[list[tuple[int, int]]] = [[]]
        self._outputs = list[tuple[Array, bytes]]()
        self._digest = hashlib.sha256()
        self._state_before = ""
        self._view: Observation
        self._foul(0)

    @property
    def digest(self) -> str:
        """Of every outcome and every bit that was answered."""
        return self._digest.hexdigest()

    def moments(self, plan: Sequence[Planned]) -> Iterator[Moment]:
        """Make the calls; whoever asks for the next moment accepts the last one."""
        for planned in plan:
            moment = self._met(planned, is_last=planned is plan[-1])
            yield moment
            self._accept(planned, moment)
            if Offer.REFUSALS not in self._subject.offers:
                continue
            for own in self._own_decode(planned, moment):
                moment = self._met(own, is_last=False)
                yield moment
                self._accept(own, moment)

    def _met(self, planned: Planned, *, is_last: bool) -> Moment:
        call, cache = planned.call, planned.cache
        came = _came(self._subject, call)
        before, length_before = self._view, self.model.caches[cache].length
        self._state_before = state_of(self.model.caches[cache])
        bits = bits_of(came.logits) if isinstance(came, Answer) else b""
        due, generation = self._due(planned, came)
        if due is None and isinstance(came, Answer):
            self._score(call, cache, came)
        self._view = self._subject.observe()
        return Moment(
            call=call,
            is_closing=planned.is_closing,
            cache=cache,
            due=due,
            came=came,
            bits=bits,
            before=before,
            after=self._view,
            model=self.model,
            subject=self._subject,
            oracle=self._oracles[cache],
            ahead=self._ahead(planned),
            is_followed=planned.is_followed,
            length_before=length_before,
            rows_before=self._rows[cache],
            since=frozenset(self._since[cache]),
            scores=self._scores[cache],
            generation=generation,
            outputs=self._outputs,
            is_last=is_last,
        )

    def _ahead(self, planned: Planned) -> tuple[int, ...]:
        """What was planned, unless a computation fails on the way there."""
        history, cache = self.model.caches[planned.cache].content.history, planned.cache
        is_still_so = planned.ahead[: len(history)] == history
        can_be = is_still_so and self._oracles[cache].can_replay(planned.ahead)
        return planned.ahead if can_be else history

    def _score(self, call: Call, cache: int, came: Answer) -> None:
        if isinstance(call, Prefill):
            self._scores[cache] = []
        if came.attention_scores is not None:
            length = self.model.caches[cache].length
            self._scores[cache].append((length, came.attention_scores))

    def _due(
        self, planned: Planned, came: Answer | Exception
    ) -> tuple[Exception | None, DueGeneration | None]:
        """What must be raised, if anything; the model follows."""
        call = planned.call
        try:
            match call:
                case Prefill() | Decode():
                    self._extend(planned)
                case Generate():
                    return None, self._chosen(call, came)
                case Train():
                    self._train(call)
                case _:
                    self.model.perform(call)
        except Exception as due:  # noqa: BLE001 # the model raises what the engine must
            return due, None
        return None, None

    def _extend(self, planned: Planned) -> None:
        kept = self.model.caches[planned.cache]
        content = kept.content
        self.model.perform(planned.call)
        try:
            oracle = self._oracles[planned.cache]
            oracle.replay(kept.content.history, planned.ahead)
        except StageFailed:
            kept.content = content
            raise

    def _chosen(self, call: Generate, came: Answer | Exception) -> DueGeneration:
        self.model.perform(call)
        decoder = self.model.decoders[call.decoder]
        oracle = self._oracle_of(decoder.config, self.model.weights(call.decoder))
        guess = tuple(map(int, call.prompt))
        if isinstance(came, Answer) and came.generation is not None:
            guess += came.generation.generated[:-1]
        due = due_generation(oracle, decoder.config, call, guess)
        self.n_unsure += due.n_sure < len(due.steps)
        return due

    def _train(self, call: Train) -> None:
        decoder = self.model.decoders[call.decoder]
        check_training(decoder.config, call.tokens, call.targets)
        oracle = self._oracle_of(decoder.config, self.model.weights(call.decoder))
        tokens = tuple(map(int, call.tokens))
        oracle.replay(tokens, tokens)
        self.model.perform(call, self._subject.gradients())

    def _accept(self, planned: Planned, moment: Moment) -> None:
        """Remember what the moment leaves for those to come."""
        call, cache, answer = planned.call, planned.cache, moment.answer
        if answer is not None:
            self._keep_up(call, cache)
        if answer is not None and answer.logits is not None:
            self._outputs.append((answer.logits, moment.bits))
            self._since[cache].clear()
        elif moment.is_refused and not planned.is_closing:
            for since in self._since:
                since.add(Event.REFUSAL)
        if self._view.caches != moment.before.caches:
            self._rows[cache] = moment.rows
        self._record(planned, moment)
        if isinstance(call, Reset) or isinstance(moment.due, StageFailed):
            self._foul(cache)

    def _keep_up(self, call: Call, cache: int) -> None:
        """What a call that was made changes of what is kept beside the model."""
        match call:
            case NewCache(decoder=decoder):
                config = self.model.decoders[decoder].config
                weights = self.model.weights_of[-1]
                self._oracles.append(self._oracle_of(config, weights))
                has_stepped = any(self.model.caches[-1].revisions)
                self._since.append({Event.STEP} if has_stepped else set())
                self._rows.append(())
                self._scores.append([])
                self._foul(len(self._oracles) - 1)
            case Copy():
                self._oracles.append(self._oracles[cache])
                self._since.append({Event.COPY, *self._since[cache]})
                self._rows.append(self._rows[cache])
                self._scores.append([*self._scores[cache]])
            case Prefill() | Decode() | Reset():
                for index, since in enumerate(self._since):
                    if index != cache:
                        since.add(Event.OTHERS)
                if isinstance(call, Reset):
                    self._since[cache].add(Event.RESET)
                    self._scores[cache] = []
            case Bind():
                if len(self.model.caches[cache].sessions) > 1:
                    self._since[cache].add(Event.REBIND)
            case Step() | Train():
                self._adopt_weights()
            case _:
                pass

    def _adopt_weights(self) -> None:
        """Go on from the engine's values, so that rounding does not add up."""
        for decoder, values in zip(
            self.model.decoders, self._subject.weights(), strict=True
        ):
            for parameter in decoder.parameters:
                self.model.values[parameter] = values[parameter.name]

    def _own_decode(self, planned: Planned, moment: Moment) -> Iterator[Planned]:
        """After a refusal or a reset a decode, where that is refused and so no trace.

        Where it would count, the script makes one, or the law R3 on a copy.
        """
        kept = self.model.caches[planned.cache]
        is_due = moment.is_refused or isinstance(planned.call, Reset)
        has_room = 0 < kept.length < kept.config.capacity
        if planned.is_closing or planned.is_followed or not is_due:
            return
        if kept.sessions and not (kept.is_bound and has_room):
            call = Decode(cache=planned.cache, token_id=0)
            yield planned._replace(call=call, is_closing=True, is_refused=True)

    def _record(self, planned: Planned, moment: Moment) -> None:
        kept, answer, error = moment.kept, moment.answer, 0.0
        if answer is not None and answer.logits is not None:
            due = moment.replayed.logits[kept.length - 1]
            error = share_of_bound(due, answer.logits)
            self._digest.update(moment.bits)
        outcome = "done" if moment.due is None else type(moment.due).__name__
        seen = Seen(
            call=planned.call,
            outcome=outcome,
            before=self._state_before,
            after=state_of(kept),
            length=kept.length,
            error=error,
        )
        (self.closing if planned.is_closing else self.seen).append(seen)
        generation = None if answer is None else answer.generation
        self._digest.update(f"{outcome} {kept.length} {generation}".encode())

    def _foul(self, cache: int) -> None:
        """Put into the rows outside the prefix what no result may depend on."""
        if Offer.SPARE in self._subject.offers:
            self._subject.foul(cache, FOREIGN)
        self._view = self._subject.observe()


def state_of(kept: CacheModel) -> str:
    """A cache in a few words: how full it is, and what is open on it."""
    filled = {0: "empty", kept.config.capacity: "full"}.get(kept.length, "prefilled")
    bound = "bound" if kept.is_bound else "closed" if kept.sessions else "new"
    return f"{filled} {bound} stale" if kept.is_stale else f"{filled} {bound}"


def _came(subject: Subject, call: Call) -> Answer | Exception:
    try:
        return subject.perform(call)
    except Exception as error:  # noqa: BLE001 # an engine under test may raise anything
        return error
