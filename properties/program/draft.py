"""``Draft``: the calls of a run, one after the other, met as they were."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from properties.calls import (
    Bind,
    BindChanged,
    BindRebuilt,
    Call,
    Decode,
    Generate,
    NewCache,
    Prefill,
    Reset,
)
from properties.plan import in_force
from properties.program.calls import ALONE, Statements
from properties.program.lines import FEW, indented, tokens
from properties.program.values import (
    ERROR,
    NAN,
    decoder_lines,
    error_of,
    persist,
    points,
    probe_lines,
)
from properties.record import Seen
from properties.script import Script


class Draft:
    """A program as far as it is written.

    Args:
        script: whose calls it makes
        fouls: whether rows outside the prefix are overwritten, as the judge does

    Attributes:
        calls: gives the lines of each call
        keeps: whether outputs are kept
        tells: whether the probe keeps where it ``struck``
        error: what the probe raises
    """

    def __init__(self, script: Script, *, fouls: bool) -> None:
        self.script = script
        self.fouls = fouls
        self.calls = Statements(script)
        self.keeps = self.tells = False
        self.error = error_of(script.faults)
        self._n_called = 0
        self._is_armed: bool | None = None  # nobody knows before the first call
        self.add(*decoder_lines(script))

    @property
    def lines(self) -> list[str]:
        """What is written."""
        return self.calls.lines

    def probe(self, *, scribbles: bool) -> list[str]:
        """What every session gets, if there are faults at all."""
        if not self.script.faults:
            return []
        given = self.error, self.tells, scribbles
        return list(probe_lines(self.script.faults, *given))

    def add(self, *lines: str) -> None:
        """Write some lines."""
        self.lines.extend(lines)

    def begin(self, *, keeps: bool = False) -> None:
        """The first cache and its session; ``outputs`` if they are kept."""
        self.add(*self.calls.of(NewCache()))
        self.done(Bind(), self.calls.of(Bind()))
        self._foul("cache")
        self.keeps = keeps
        if keeps:
            self.add("outputs = []")

    def make_all(self, made: Iterable[Seen]) -> None:
        """The calls that were judged right; many decodes in a row are a loop."""
        for kind, group in groupby(made, key=self._kind):
            alike = list(group)
            if kind is not None and len(alike) > FEW:
                self._decode_all([each.call for each in alike])
            else:
                for seen in alike:
                    self.make(seen)

    def make(self, seen: Seen, answer: str = ALONE) -> None:
        """One call that was judged right; ``answer`` is what becomes of its answer."""
        call = seen.call
        if self.keeps and isinstance(call, Prefill | Decode) and seen.outcome == "done":
            answer = "outputs.append({})"
        self.arm(call, is_closing=seen.is_closing)
        lines = self.calls.of(call, answer)
        self._n_called += not seen.is_closing
        if seen.struck is not None and not persist(self.script.faults):
            self._is_armed = False
        if seen.outcome == "done":
            self.done(call, lines)
        else:
            self.suppressed(seen.outcome, lines)
        has_failed = seen.struck is not None or seen.outcome == "StageFailed"
        if isinstance(call, Reset) or (isinstance(call, Prefill) and has_failed):
            self._foul(self.calls.caches[call.cache])

    def done(self, call: Call, lines: Sequence[str]) -> None:
        """A call that succeeds, and the name of what it makes."""
        if isinstance(call, Bind | BindRebuilt | BindChanged):
            *before, last = lines
            lines = [*before, f"{self.calls.new_session(call.cache)} = {last}"]
        self.add(*lines)
        if isinstance(call, NewCache):
            self._foul(self.calls.caches[-1])

    def suppressed(self, error: str, lines: Sequence[str]) -> None:
        """A call that raises this error."""
        self.add(f"with suppress({error}):", *indented(lines))

    def arm(self, call: Call, *, is_closing: bool) -> None:
        """Plan what the script has planned for a call."""
        faults = self.script.faults
        if not faults or not isinstance(call, Prefill | Decode | Generate):
            return
        fault = None if is_closing else in_force(faults, self._n_called)
        if fault is not None:
            self.add(f"points = {points(faults, fault)}")
            if self.error == ERROR:
                self.add(f"{ERROR} = {fault.raises}()")
        elif self._is_armed is not False:
            self.add(f"points = {points(faults, None)}")
        self._is_armed = fault is not None

    def _kind(self, seen: Seen) -> tuple[int, int] | None:
        """Which session a decode is of, that can be in a loop."""
        call = seen.call
        is_alone = self.script.faults or self.keeps or seen.is_closing
        if is_alone or not isinstance(call, Decode) or seen.outcome != "done":
            return None
        return call.cache, call.age

    def _decode_all(self, calls: Sequence[Call]) -> None:
        decodes = [call for call in calls if isinstance(call, Decode)]
        token_ids = [call.token_id for call in decodes]
        session = self.calls.session(decodes[0])
        self.add(*tokens("for token_id in ", token_ids, ":"))
        self.add(f"    {session}.decode(token_id)")

    def _foul(self, cache: str) -> None:
        if self.fouls:
            self.add(f"{cache}.fill_spare({NAN})")
