"""``Told``: a failure that becomes a program, and the lines that its laws share."""

import math
from collections.abc import Sequence
from typing import Never

import numpy as np

from properties.difference import Difference
from properties.judge import PropertyFailed
from properties.moment import Met, Moment
from properties.program.calls import ALONE
from properties.program.draft import Draft
from properties.program.lines import asserted, indented, said
from properties.record import Seen


class ProgramRefused(ValueError):
    """A failure that no short program shows."""


class Told:
    """A failure, and the program as far as it is written.

    Args:
        failure: what is told
        draft: gets the lines
        is_thorough: whether all is written that may matter, though it is long: what
            the judge has called for itself and left nothing, and its fresh decoders

    Attributes:
        moment: the call that broke the law
        found: the difference that is shown
    """

    def __init__(
        self, failure: PropertyFailed, draft: Draft, *, is_thorough: bool
    ) -> None:
        self.failure = failure
        self.draft = draft
        self.is_thorough = is_thorough
        self.moment: Moment = failure.moment
        self.found: Difference = failure.broken[failure.law]
        self.has_begun = False
        self._is_due_known = False

    @property
    def cache(self) -> str:
        """The name of the cache in focus."""
        return self.draft.calls.caches[self.moment.cache]

    @property
    def decoder(self) -> str:
        """The name of the decoder that the cache in focus belongs to."""
        owners = [each.parameters for each in self.moment.model.decoders]
        return self.draft.calls.decoders[owners.index(self.moment.kept.parameters)]

    def refuse(self, reason: str) -> Never:
        """No program shows this.

        Raises:
            ProgramRefused: for that reason.
        """
        message = f"{self.failure.law.id}, {self.found.where}: {reason}"
        raise ProgramRefused(message)

    def begin(self, made: Sequence[Seen] | None = None, *, keeps: bool = False) -> None:
        """The session, and the calls before the one that broke the law, or some."""
        self.has_begun = True
        self.draft.begin(keeps=keeps)
        self.draft.make_all(
            filter(self._matters, self.failure.made if made is None else made)
        )

    def _matters(self, seen: Seen) -> bool:
        """Not what the judge calls on other caches, and what it is refused."""
        is_own = seen.is_closing and not self.is_thorough
        is_on_another = getattr(seen.call, "cache", 0) != self.moment.cache
        return not is_own or (seen.outcome == "done" and not is_on_another)

    def call(self, answer: str = ALONE) -> None:
        """The call that broke the law, met as it had to be; none at the end."""
        call = self.moment.call
        if self.moment.is_over:
            return
        self.draft.arm(call, is_closing=self.failure.is_closing)
        lines = self.draft.calls.of(call, answer)
        if self.moment.met is Met.REFUSED:
            self.draft.suppressed(type(self.moment.due).__name__, lines)
        else:
            self.draft.done(call, lines)

    def due(self, expression: str) -> None:
        """What is due is computed here."""
        self.draft.add(f"due = {expression}")
        self._is_due_known = True

    def know_due(self) -> None:
        """What is due has been computed."""
        self._is_due_known = True

    def attempt(self, name: str, lines: Sequence[str], *, is_sure: bool) -> None:
        """Lines that give something its value; or that is what they raise."""
        if is_sure:
            self.draft.add(*lines)
        else:
            self.draft.add("try:", *indented(lines), "except Exception as error:")
            self.draft.add(f"    {name} = repr(error)")

    def check(self, came: str = "", condition: str = "") -> None:
        """What came is computed here, if it is not yet, and compared."""
        found, law = self.found, self.failure.law
        if came:
            self.draft.add(f"came = {came}")
        usual = "came == due"
        if found.bound is not None:
            self.draft.add(f"due, bound = {_number(found.due)}, {found.bound!r}")
            usual = "abs(came - due) <= bound"
        elif not self._is_due_known:
            self.draft.add(f"due = {said(found.due)}")
        elif isinstance(found.due, float) and (
            math.isnan(found.due) or found.due == found.came
        ):
            usual = "str(came) == str(due)"  # tells zeros apart, but no NaNs
        place = f"{law.id} {law.name}, {found.where}"
        self.draft.add(*asserted(condition or usual, place))


def _number(number: object) -> str:
    if isinstance(number, np.longdouble):
        return repr(number)
    assert isinstance(number, float | np.floating)
    return repr(float(number))
