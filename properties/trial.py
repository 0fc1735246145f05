"""One run: makes a script's calls on an engine and on the model, side by side."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from engine.arrays import Array
from properties.calls import (
    Call,
    Close,
    Decode,
    NewCache,
    Prefill,
    Reset,
    Step,
    Train,
)
from properties.difference import bits_of
from properties.due import Expectation, OracleOf
from properties.injector import Injector
from properties.model import Model
from properties.moment import FOREIGN, Met, Moment, is_whole
from properties.record import Record, state_of
from properties.rehearsal import Planned, Rehearsal, closing_calls
from properties.script import Script
from properties.subject import Answer, Observation, Offer, Subject
from properties.watched import Watch


class Trial:
    """A script under way; ``record`` has what was judged and found right."""

    def __init__(
        self,
        script: Script,
        weights: Mapping[str, Array],
        subject: Subject,
        oracle_of: OracleOf,
    ) -> None:
        self.model = Model(script.config, weights, script.optimizer)
        self.record = Record()
        self._injector = Injector()
        self._expectation = Expectation(self.model, subject, self._injector, oracle_of)
        self._subject = subject
        self._watch = Watch(self.model, subject, oracle_of)
        self._outputs = list[tuple[Array, bytes]]()
        self._state_before, self._last_met = "", Met.DONE
        self._view: Observation
        if script.faults:
            subject.watch(self._injector)
        self._foul(0)

    def moments(self, rehearsal: Rehearsal) -> Iterator[Moment]:
        """Make the calls, the closing ones too; the last moment is about the end.

        Whoever asks for the next moment accepts the one before. Where engine and model
        have gone apart there is nothing more to compare, and the moments end.
        """
        moment = None
        for planned in self._all_planned(rehearsal):
            moment = self._met(planned)
            yield moment
            if self._is_apart(moment):
                return
            self._accept(planned, moment)
        if moment is not None:
            view = self._view
            yield replace(moment, before=view, after=view, is_over=True)

    def _all_planned(self, rehearsal: Rehearsal) -> Iterator[Planned]:
        """Each call when the ones before it have been accepted."""
        for planned in rehearsal.calls:
            if self._takes(planned.call):
                yield planned
                yield from self._own_decode(planned)
        for cache in range(len(self.model.caches)):
            ahead = rehearsal.ahead.get(cache, ())
            for call in closing_calls(self.model, cache):
                if self._takes(call):
                    yield Planned(
                        call=call,
                        cache=cache,
                        is_refused=False,
                        ahead=ahead,
                        is_followed=True,
                        is_closing=True,
                    )

    def _takes(self, call: Call) -> bool:
        """Whether a call can be made, as far as the rehearsal could not know.

        A computation may have failed, and so a session is not there after all. A call
        that is refused can be made only if the engine offers refusals.
        """
        if not isinstance(call, Prefill | Decode | Reset | Close):
            return True
        if call.age >= len(self.model.caches[call.cache].sessions):
            return False
        if Offer.REFUSALS in self._subject.offers or not isinstance(call, Decode):
            return True
        return self.model.caches[call.cache].can_decode(call.token_id)

    def _is_apart(self, moment: Moment) -> bool:
        is_silent = Offer.REFUSALS not in self._subject.offers
        was_due = moment.met is Met.REFUSED and moment.struck is None
        return (was_due and is_silent) or moment.met is Met.DISAGREED

    def _met(self, planned: Planned) -> Moment:
        call, cache = planned.call, planned.cache
        watched = self._watch[cache]
        self._injector.begin(planned.fault)
        came = self._came(call)
        injected = self._injector.struck, self._injector.raised
        before, length_before = self._view, self.model.caches[cache].length
        self._state_before = state_of(self.model.caches[cache])
        bits = b""
        if isinstance(came, Answer) and is_whole(call, came):
            bits = bits_of(came.logits)
        due = self._expectation.of(planned, came, watched.oracle)
        if due.error is None and isinstance(came, Answer):
            self._watch.answered(call, cache, came)
        self._view = self._subject.observe()
        return Moment(
            call=call,
            is_closing=planned.is_closing,
            cache=cache,
            due=due.error,
            struck=due.struck,
            came=came,
            injected=injected,
            bits=bits,
            before=before,
            after=self._view,
            model=self.model,
            subject=self._subject,
            oracle=watched.oracle,
            ahead=self._ahead(planned),
            is_followed=planned.is_followed,
            length_before=length_before,
            rows_before=watched.rows,
            storage=watched.storage,
            since=frozenset(watched.since),
            scores=watched.scores,
            generation=due.generation,
            outputs=self._outputs,
            is_over=False,
        )

    def _ahead(self, planned: Planned) -> tuple[int, ...]:
        """What was planned, unless a computation fails on the way there."""
        history, cache = self.model.caches[planned.cache].content.history, planned.cache
        is_still_so = planned.ahead[: len(history)] == history
        oracle = self._watch[cache].oracle
        can_be = is_still_so and oracle.can_replay(planned.ahead)
        return planned.ahead if can_be else history

    def _accept(self, planned: Planned, moment: Moment) -> None:
        """Remember what the moment leaves for those to come."""
        call, cache = planned.call, planned.cache
        watched, self._last_met = self._watch[cache], moment.met
        if moment.has_failed:
            self._watch.failed()
        elif moment.met is Met.REFUSED:
            self._watch.refused()
        else:
            self._watch.made(call, cache)
        if moment.met is Met.LOGITS:
            self._outputs.append((moment.logits, moment.bits))
            watched.since.clear()
        if isinstance(call, Step | Train) and moment.met is Met.DONE:
            self._adopt_weights()
        if self._view.caches != moment.before.caches:
            watched.rows = moment.rows
        self.record.add(moment, self._state_before)
        if isinstance(call, Reset) or moment.has_failed:
            self._foul(cache)
        if isinstance(call, NewCache):
            self._foul(len(self.model.caches) - 1)

    def _adopt_weights(self) -> None:
        """Go on from the engine's values and moments: rounding must not add up."""
        for decoder, values in zip(
            self.model.decoders, self._subject.weights(), strict=True
        ):
            for parameter in decoder.parameters:
                self.model.values[parameter] = values[parameter.name]
        self.model.optimizer.moments = dict(self._subject.moments())

    def _own_decode(self, planned: Planned) -> Iterator[Planned]:
        """After a refusal or a reset a decode, where that is refused and so no trace.

        Where it would count, the script makes one, or the law R3 on a copy.
        """
        kept = self.model.caches[planned.cache]
        is_due = self._last_met is Met.REFUSED or isinstance(planned.call, Reset)
        has_room = 0 < kept.length < kept.config.capacity
        is_silent = Offer.REFUSALS not in self._subject.offers
        if is_silent or planned.is_followed or not is_due:
            return
        if kept.sessions and not (kept.is_bound and has_room):
            call = Decode(cache=planned.cache, token_id=0)
            yield planned._replace(call=call, is_closing=True, is_refused=True)

    def _foul(self, cache: int) -> None:
        """Put into the rows outside the prefix what no result may depend on."""
        if Offer.SPARE in self._subject.offers:
            self._subject.foul(cache, FOREIGN)
        self._view = self._subject.observe()

    def _came(self, call: Call) -> Answer | BaseException:
        try:
            return self._subject.perform(call)
        except Exception as error:  # noqa: BLE001 # any engine may raise anything
            return error
        except BaseException as error:
            if error is self._injector.raised:
                return error
            raise
