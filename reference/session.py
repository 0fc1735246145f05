"""What a session must answer: lists of tokens, and the rules, without any arithmetic.

Each method mirrors the engine's: it raises the refusal that is due and changes nothing,
or it changes the model. What logits and rows must be is left to ``replay``.
"""

from dataclasses import fields
from operator import add
from typing import Final, NamedTuple, SupportsIndex

from engine import errors
from engine.config import DecoderConfig
from engine.work import Work
from reference.tokens import (
    Tokens,
    beginning,
    checked_prompt,
    fitting_prompt,
    integer,
    n_given,
)

_LIMIT: Final = 2**64 - 1


class ParameterModel:
    """A parameter's identity, and its revision."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.revision = 0


class DecoderModel(NamedTuple):
    """A configuration, and parameters in stable order."""

    config: DecoderConfig
    parameters: tuple[ParameterModel, ...]


class Content(NamedTuple):
    """What a cache holds: tokens, how many came in the prompt, counters before them."""

    history: tuple[int, ...]
    n_prompt: int
    start: Work

    @property
    def length(self) -> int:
        """Positions held."""
        return len(self.history)

    def work(self, config: DecoderConfig) -> Work:
        """The counters, in closed form."""
        rows, layers = self.length, config.n_layers
        scores = layers * config.n_heads * rows * (rows + 1) // 2
        decoded, appends = rows - self.n_prompt, layers * rows
        done = (rows, self.n_prompt, decoded, appends, 3 * appends, scores)
        return Work(*map(add, self.start, done))


class CacheModel:
    """Tokens, and the evidence of what their rows were computed from."""

    def __init__(self, decoder: DecoderModel, work: Work) -> None:
        self.config = decoder.config
        self.parameters = decoder.parameters
        self.revisions = tuple(each.revision for each in decoder.parameters)
        self.content = Content((), 0, work)
        self.sessions: list[SessionModel] = []

    @property
    def length(self) -> int:
        """Positions held."""
        return self.content.length

    @property
    def work(self) -> Work:
        """The six counters."""
        return self.content.work(self.config)

    @property
    def is_bound(self) -> bool:
        """Whether a session is open."""
        return any(session.is_open for session in self.sessions)

    @property
    def is_stale(self) -> bool:
        """Whether a parameter was replaced since the cache was made."""
        return self.revisions != tuple(each.revision for each in self.parameters)

    def copy(self) -> "CacheModel":
        """The same tokens and evidence, unbound."""
        copy = CacheModel(DecoderModel(self.config, self.parameters), self.work)
        copy.revisions, copy.content = self.revisions, self.content
        return copy

    def can_decode(self, token_id: SupportsIndex) -> bool:
        """Whether one more token would be held, if a session were open."""
        try:
            twin = self.copy().bind(DecoderModel(self.config, self.parameters))
            twin.decode(token_id)
        except errors.EngineError:
            return False
        return True

    def bind(self, decoder: DecoderModel) -> "SessionModel":
        """Open a session, or raise what forbids it."""
        for field in fields(self.config):
            cached = getattr(self.config, field.name)
            given = getattr(decoder.config, field.name)
            if repr(cached) != repr(given):
                raise errors.ConfigMismatch(field.name, cached, given)
        known = tuple(zip(self.parameters, self.revisions, strict=True))
        for index, (parameter, _) in enumerate(known):
            if decoder.parameters[index] is not parameter:
                raise errors.ParameterMismatch(index, parameter.name)
        for index, (parameter, revision) in enumerate(known):
            if parameter.revision != revision:
                raise errors.ParameterRevisionMismatch(
                    index, parameter.name, revision, parameter.revision
                )
        if self.is_bound:
            raise errors.CacheInUse
        session = SessionModel(self)
        self.sessions.append(session)
        return session


class SessionModel:
    """One opened session; ``is_open`` until it is closed."""

    def __init__(self, cache: CacheModel) -> None:
        self.cache = cache
        self.is_open = True

    def prefill(self, prompt: Tokens) -> None:
        """Hold the prompt's tokens, or raise what forbids it."""
        self._require_open()
        cache = self.cache
        if cache.length and beginning(prompt, 1):
            raise errors.PrefillRequiresEmpty(cache.length)
        history = checked_prompt(cache.config, prompt)
        self._extend(history, len(history))

    def decode(self, token_id: SupportsIndex) -> None:
        """Hold one more token, or raise what forbids it."""
        self._require_open()
        cache, content = self.cache, self.cache.content
        if not cache.length:
            raise errors.DecodeRequiresPrefill
        token, vocab_size = integer(token_id), cache.config.vocab_size
        if not 0 <= token < vocab_size:
            raise errors.DecodeTokenOutOfRange(token, vocab_size)
        if cache.length == cache.config.capacity:
            raise errors.CacheFull(cache.config.capacity)
        self._extend((*content.history, token), content.n_prompt)

    def reset(self) -> None:
        """Forget tokens and counters, or raise what forbids it."""
        self._require_open()
        self.cache.content = Content((), 0, Work())

    def close(self) -> None:
        """Read the parameters no longer."""
        self.is_open = False

    def _require_open(self) -> None:
        if not self.is_open:
            raise errors.SessionClosed

    def _extend(self, history: tuple[int, ...], n_prompt: int) -> None:
        content = Content(history, n_prompt, self.cache.content.start)
        work = content.work(self.cache.config)
        for counter, count in work._asdict().items():
            if count > _LIMIT:
                raise errors.WorkOverflow(counter)
        self.cache.content = content


def check_training(
    config: DecoderConfig,
    token_ids: Tokens,
    target_ids: Tokens,
) -> None:
    """Raise what forbids a loss of these tokens and targets."""
    tokens = fitting_prompt(config, token_ids)
    targets = beginning(target_ids, len(tokens) + 1)
    if len(tokens) != len(targets):
        raise errors.TargetCountMismatch(len(tokens), n_given(target_ids, targets))
    checked_prompt(config, tokens)
    for position, each in enumerate(targets):
        target = integer(each)
        if not 0 <= target < config.vocab_size:
            raise errors.TargetOutOfRange(position, target, config.vocab_size)
