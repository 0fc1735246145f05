"""The model is a list of tokens for each cache, and who may read it.

A session is correct when the judge says so. The machine only makes the script: it
performs each call on the model too, to see what can come next, and judges nothing.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from engine import DecoderConfig, EngineError
from properties import faulty_turns as faulty, refused_turns as refused, turns
from properties.calls import Call
from properties.drawing import drawn, drawn_as_refused, drawn_to_fail, when
from properties.drawn import initial_weights
from properties.faulty_turns import Attempt
from properties.geometry import begun
from properties.model import Model
from properties.plan import in_force, make_on, moved
from properties.reachable import (
    closed,
    copyable,
    has_room_for_both,
    has_room_for_cache,
    open_caches,
    open_empty,
    open_filled,
    open_with_room,
    stale,
    two_with_room,
    unbound_fresh,
)
from properties.script import Fault, Script


def begun_on(machine: "SessionMachine") -> st.SearchStrategy[Script]:
    """Scripts without calls, of the configurations that were asked for."""
    return begun(machine.shapes)


class SessionMachine(RuleBasedStateMachine):
    """Calls on sessions in any order; the judge gets them all at the end."""

    begun: Script  # without its calls
    model: Model
    calls: list[Call]
    faults: list[Fault]

    def __init__(
        self,
        judged: Callable[[Script], object],
        shapes: st.SearchStrategy[DecoderConfig],
    ) -> None:
        super().__init__()
        self.judged, self.shapes = judged, shapes
        self.calls, self.faults = [], []

    @initialize(begun=st.runner().flatmap(begun_on))
    def begin(self, begun: Script) -> None:
        self.begun = begun
        self.model = Model(begun.config, initial_weights(begun.config, begun.weights))

    def make(self, calls: Sequence[Call], faults: Sequence[Fault] = ()) -> None:
        self.faults += [moved(fault, len(self.calls)) for fault in faults]
        for call in calls:
            fault = in_force(self.faults, len(self.calls))
            self.calls.append(call)
            with suppress(EngineError, TypeError):
                make_on(self.model, call, fault)

    def teardown(self) -> None:
        if self.calls:
            made = {"calls": tuple(self.calls), "faults": tuple(self.faults)}
            self.judged(self.begun.model_copy(update=made))

    # What a caller may do.

    @precondition(when(open_empty))
    @rule(calls=drawn(turns.first_prompts))
    def prefill(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_with_room))
    @rule(calls=drawn(turns.decodes))
    def decode(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(two_with_room))
    @rule(calls=drawn(turns.interleaved))
    def decode_in_turn(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_caches))
    @rule(calls=drawn(turns.resets))
    def reset(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_filled))
    @rule(calls=drawn(turns.second_sequences))
    def reset_and_prefill(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_caches))
    @rule(calls=drawn(turns.closes))
    def close(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_caches))
    @rule(calls=drawn(turns.rebinds))
    def rebind(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(unbound_fresh))
    @rule(calls=drawn(turns.binds))
    def bind(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(has_room_for_cache))
    @rule(calls=drawn(turns.new_sessions))
    def new_cache(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(copyable))
    @rule(calls=drawn(turns.copies))
    def copy(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(has_room_for_both))
    @rule(calls=drawn(turns.shares))
    def new_decoder(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @rule(calls=drawn(turns.steps_between_sessions))
    def step_between_sessions(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @rule(calls=drawn(turns.training_between_sessions))
    def train_between_sessions(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @rule(calls=drawn(turns.generations))
    def generate(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(has_room_for_cache))
    @rule(calls=drawn(turns.steps_on_a_subset))
    def step_on_a_subset(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    # What may fail on its way, leaving no trace.

    @rule(attempt=drawn_to_fail(faulty.once_or_to_the_end))
    def fail(self, attempt: Attempt) -> None:
        self.make(*attempt)

    @rule(attempt=drawn_to_fail(faulty.twice))
    def fail_twice(self, attempt: Attempt) -> None:
        self.make(*attempt)

    @rule(attempt=drawn_to_fail(faulty.from_then_on))
    def fail_from_then_on(self, attempt: Attempt) -> None:
        self.make(*attempt)

    # What must be refused.

    @precondition(when(open_caches))
    @rule(calls=drawn(refused.bad_first_prompts))
    def refuses_bad_prompts(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_filled))
    @rule(calls=drawn_as_refused(refused.second_prompts))
    def refuses_a_second_prompt(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_empty))
    @rule(calls=drawn_as_refused(refused.early_decodes))
    def refuses_to_decode_before_a_prompt(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_filled))
    @rule(calls=drawn_as_refused(refused.strange_decodes))
    def refuses_strange_tokens(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_filled))
    @rule(calls=drawn(refused.overflows))
    def refuses_to_overflow(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(closed))
    @rule(calls=drawn_as_refused(refused.calls_on_closed))
    def refuses_after_close(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_caches))
    @rule(calls=drawn_as_refused(refused.second_binds))
    def refuses_a_second_session(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @rule(calls=drawn_as_refused(refused.strange_binds))
    def refuses_strange_decoders(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(stale))
    @rule(calls=drawn_as_refused(refused.stale_binds))
    def refuses_stale_caches(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(open_caches))
    @rule(calls=drawn_as_refused(refused.steps_during_sessions))
    def refuses_a_step_during_a_session(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @rule(calls=drawn_as_refused(refused.flawed_steps))
    def refuses_flawed_steps(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @rule(calls=drawn_as_refused(refused.bad_training))
    def refuses_bad_training(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @rule(calls=drawn_as_refused(refused.bad_requests))
    def refuses_bad_requests(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @precondition(when(has_room_for_cache))
    @rule(calls=drawn(refused.worn_counters))
    def refuses_to_overflow_counters(self, calls: Sequence[Call]) -> None:
        self.make(calls)

    @rule(calls=drawn(turns.nothing))
    def anything(self, calls: Sequence[Call]) -> None:
        self.make(calls)
