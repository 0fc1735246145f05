"""The model is a list of tokens.

A session is correct when every answer is the newest position of their replay, every
stored row is one of its rows, and a refused call changes nothing.
"""

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from engine import (
    CacheFull,
    Decoder,
    DecoderConfig,
    DecodeRequiresPrefill,
    DecodeTokenOutOfRange,
    EmptyPrompt,
    PrefillRequiresEmpty,
    PromptTokenOutOfRange,
    PromptTooLong,
    SplitMix64,
)
from properties.geometry import configs, prompts, seeds, strange_tokens, token_ids
from properties.judge import Judge


def is_empty(machine: "SessionMachine") -> bool:
    return not machine.judge.history


def is_prefilled(machine: "SessionMachine") -> bool:
    return bool(machine.judge.history)


def is_full(machine: "SessionMachine") -> bool:
    return len(machine.judge.history) == machine.judge.decoder.config.capacity


def has_room(machine: "SessionMachine") -> bool:
    return is_prefilled(machine) and not is_full(machine)


def known_prompts(machine: "SessionMachine") -> st.SearchStrategy[list[int]]:
    return prompts(machine.judge.decoder.config)


def known_tokens(machine: "SessionMachine") -> st.SearchStrategy[int]:
    return token_ids(machine.judge.decoder.config)


def unknown_tokens(machine: "SessionMachine") -> st.SearchStrategy[int]:
    return strange_tokens(machine.judge.decoder.config)


class SessionMachine(RuleBasedStateMachine):
    """Calls on one session in any order, each judged at once."""

    judge: Judge

    @initialize(config=configs(), seed=seeds())
    def begin(self, config: DecoderConfig, seed: int) -> None:
        self.judge = Judge(Decoder.initialize(config, SplitMix64(seed)))

    # What a caller may do.

    @precondition(is_empty)
    @rule(prompt=st.runner().flatmap(known_prompts))
    def prefill(self, prompt: list[int]) -> None:
        self.judge.prefill(prompt)

    @precondition(has_room)
    @rule(token_id=st.runner().flatmap(known_tokens))
    def decode(self, token_id: int) -> None:
        self.judge.decode(token_id)

    @rule()
    def reset(self) -> None:
        self.judge.reset()

    @rule()
    def rebind(self) -> None:
        self.judge.rebind()

    @rule()
    def step_between_sessions(self) -> None:
        self.judge.step_and_renew()

    # What must be refused, leaving no trace.

    @rule()
    def refuses_an_empty_prompt(self) -> None:
        self.judge.refuses(EmptyPrompt(), lambda: self.judge.session.prefill([]))

    @precondition(is_prefilled)
    @rule(prompt=st.runner().flatmap(known_prompts))
    def refuses_a_second_prompt(self, prompt: list[int]) -> None:
        refusal = PrefillRequiresEmpty(len(self.judge.history))
        self.judge.refuses(refusal, lambda: self.judge.session.prefill(prompt))

    @precondition(is_empty)
    @rule(token_id=st.runner().flatmap(unknown_tokens))
    def refuses_a_prompt_beyond_the_capacity(self, token_id: int) -> None:
        capacity = self.judge.decoder.config.capacity
        prompt = [token_id] * (capacity + 1)
        refusal = PromptTooLong(capacity + 1, capacity)
        self.judge.refuses(refusal, lambda: self.judge.session.prefill(prompt))

    @precondition(is_empty)
    @rule(token_id=st.runner().flatmap(unknown_tokens))
    def refuses_an_unknown_prompt_token(self, token_id: int) -> None:
        refusal = PromptTokenOutOfRange(
            0, token_id, self.judge.decoder.config.vocab_size
        )
        self.judge.refuses(refusal, lambda: self.judge.session.prefill([token_id]))

    @precondition(is_empty)
    @rule(token_id=st.runner().flatmap(unknown_tokens))
    def refuses_to_decode_before_a_prompt(self, token_id: int) -> None:
        refusal = DecodeRequiresPrefill()
        self.judge.refuses(refusal, lambda: self.judge.session.decode(token_id))

    @precondition(is_prefilled)
    @rule(token_id=st.runner().flatmap(unknown_tokens))
    def refuses_an_unknown_token(self, token_id: int) -> None:
        refusal = DecodeTokenOutOfRange(token_id, self.judge.decoder.config.vocab_size)
        self.judge.refuses(refusal, lambda: self.judge.session.decode(token_id))

    @precondition(is_full)
    @rule(token_id=st.runner().flatmap(known_tokens))
    def refuses_to_overflow(self, token_id: int) -> None:
        refusal = CacheFull(self.judge.decoder.config.capacity)
        self.judge.refuses(refusal, lambda: self.judge.session.decode(token_id))

    @rule()
    def refuses_a_step_during_the_session(self) -> None:
        self.judge.refuses_a_step()

    # What is always true.

    @invariant()
    def counters_are_a_closed_form_of_the_history(self) -> None:
        self.judge.counters_are_exact()
