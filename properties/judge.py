"""The judge: runs a script on an engine, and asks every law after every call."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final

from engine import DecoderConfig
from engine.arrays import Array
from properties.built_in import BuiltIn
from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Close,
    Copy,
    Generate,
    NewCache,
    NewDecoder,
    Restore,
    Step,
    Train,
)
from properties.difference import Difference, bits_of
from properties.drawn import initial_weights
from properties.first_difference import (
    FirstDifference,
    NoDifference,
    first_difference,
)
from properties.laws import LAWS, Law
from properties.moment import Met, Moment
from properties.oracle import Oracle
from properties.record import Seen, of_judge, of_script
from properties.recorded import Recorded
from properties.rehearsal import Rehearsal, rehearse
from properties.script import Script, ScriptRejected, to_json
from properties.subject import Make, Offer
from properties.trial import Trial

_SESSIONS: Final = frozenset({Offer.SESSIONS})
_NEEDS: Final[Mapping[type[Call], frozenset[Offer]]] = {
    **dict.fromkeys((NewDecoder, NewCache, Bind, BindRebuilt, BindChanged), _SESSIONS),
    Close: _SESSIONS,
    Copy: _SESSIONS | {Offer.COPIES},
    Restore: _SESSIONS | {Offer.FILES},
    Step: frozenset({Offer.STEPS}),
    Train: frozenset({Offer.STEPS}),
    Generate: frozenset({Offer.GENERATION}),
}
"""By call, what an engine must offer to be called so; what is not here, nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was seen of a script that broke no law.

    Attributes:
        seen: its calls
        closing: the judge's own calls
        digest: of every outcome and every bit that was answered
        n_unsure: generations that rounding may have ended otherwise
        n_skipped: the script's calls that could not be made, as the engine offers no
            refusals, or as it and the model have gone apart without breaking a law
    """

    seen: tuple[Seen, ...]
    closing: tuple[Seen, ...]
    digest: str
    n_unsure: int
    n_skipped: int


@dataclass(eq=False)
class PropertyFailed(AssertionError):
    """An engine broke a law, or several at once.

    Attributes:
        broken: every law that the call broke, with what was due and what came
        made: the calls before it, the judge's own among them
        script: all of it
        moment: the call, and all about it
        search: looks for the first number beyond its bound, given how many calls came
            before
        new_judge: makes judges like the one that found it, who remember nothing
    """

    broken: Mapping[Law, Difference]
    made: tuple[Seen, ...]
    script: Script
    moment: Moment = field(repr=False)
    search: Callable[[int], FirstDifference | None] = field(repr=False)
    new_judge: Callable[[], "Judge"] = field(repr=False)

    @property
    def law(self) -> Law:
        """The first that was broken."""
        return next(iter(self.broken))

    @property
    def call(self) -> Call:
        """The call that broke it."""
        return self.moment.call

    @property
    def is_closing(self) -> bool:
        """Whether the judge made that call, and not the script."""
        return self.moment.is_closing

    @property
    def seen(self) -> tuple[Seen, ...]:
        """The script's calls before it."""
        return of_script(self.made)

    @property
    def closing(self) -> tuple[Seen, ...]:
        """The judge's calls before it."""
        return of_judge(self.made)

    @cached_property
    def first(self) -> FirstDifference | NoDifference:
        """The first number that is beyond its bound, found when somebody asks.

        The run is made again for it. Whatever comes of that, the failure stands.
        """
        try:
            found = self.search(len(self.made))
        except Exception as error:  # noqa: BLE001 # any engine may raise anything
            return NoDifference(f"looking for it raised {error!r}")
        return found or NoDifference("no number is beyond its bound")

    def __str__(self) -> str:
        law, *others = self.broken
        made = "a call of the judge" if self.is_closing else f"call {len(self.seen)}"
        also = f" (also {', '.join(each.id for each in others)})" if others else ""
        return (
            f"{law.id} {law.name}{also}: {made}, {self.call!r}\n"
            f"  {self.broken[law]}\n  first difference: {self.first}\n"
            f"{to_json(self.script)}"
        )


class Judge:
    """Judges scripts, and remembers replays and lone runs from one to the next.

    Args:
        make: the engine under test
        laws: those to ask; what an engine does not offer is not asked of it
    """

    def __init__(
        self, make: Make = BuiltIn, laws: Iterable[Law] = tuple(LAWS.values())
    ) -> None:
        self._make = make
        self._laws = tuple(laws)
        self._oracles: dict[tuple[DecoderConfig, bytes], Oracle] = {}

    def __call__(self, script: Script) -> Verdict:
        """Run a script.

        Raises:
            PropertyFailed: the first law that the engine broke.
            ScriptRejected: a call names what does not exist, or what the engine does
                not offer.
        """
        __tracebackhide__ = True  # pytest need not show how a law is asked
        weights = initial_weights(script.config, script.weights)
        rehearsal = rehearse(script, weights)
        subject = self._make(script.config, weights, script.optimizer)
        if script.faults and Offer.PROBE not in subject.offers:
            raise ScriptRejected(f"the engine offers no {Offer.PROBE}")
        plan = _offered(rehearsal, subject.offers)
        judged = [law for law in self._laws if law.needs <= subject.offers]
        laws = {met: [law for law in judged if met in law.met] for met in Met}
        trial = Trial(script, weights, subject, self._oracle_of)
        for moment in trial.moments(plan):
            found = [(law, law.difference(moment)) for law in laws[moment.met]]
            broken = {law: each for law, each in found if each is not None}
            if broken:
                raise PropertyFailed(
                    broken,
                    tuple(trial.record.made),
                    script,
                    moment,
                    partial(self._first_difference, script, plan),
                    partial(Judge, self._make, self._laws),
                ) from moment.surprise
        seen = of_script(trial.record.made)
        return Verdict(
            seen=seen,
            closing=of_judge(trial.record.made),
            digest=trial.record.digest,
            n_unsure=trial.record.n_unsure,
            n_skipped=len(script.calls) - len(seen),
        )

    def _first_difference(
        self, script: Script, plan: Rehearsal, n_before: int
    ) -> FirstDifference | None:
        weights = initial_weights(script.config, script.weights)
        subject = self._make(script.config, weights, script.optimizer)
        trial = Recorded(script, weights, subject, self._oracle_of)
        return first_difference(trial, plan, n_before)

    def _oracle_of(self, config: DecoderConfig, weights: Mapping[str, Array]) -> Oracle:
        bits = hashlib.sha256(b"".join(map(bits_of, weights.values()))).digest()
        key = (config, bits)
        if key not in self._oracles:
            self._oracles[key] = Oracle(self._make, config, weights)
        return self._oracles[key]


def _offered(rehearsal: Rehearsal, offers: frozenset[Offer]) -> Rehearsal:
    """The calls that can be made on an engine that offers no more than this."""
    calls = rehearsal.calls
    for index, planned in enumerate(calls):
        lacking = _NEEDS.get(type(planned.call), frozenset()) - offers
        if lacking:
            raise ScriptRejected(f"call {index}: the engine offers no {min(lacking)}")
    if Offer.REFUSALS not in offers:
        calls = [planned for planned in calls if not planned.is_refused]
    return rehearsal._replace(calls=calls)
