"""Refused calls: nothing changed."""

from dataclasses import dataclass

from engine.errors.families import RequestError, shown


@dataclass(eq=False, repr=False)
class EmptyPrompt(RequestError):
    """The prompt has no token."""

    def __str__(self) -> str:
        return "the prompt has 0 tokens, at least 1 is needed"


@dataclass(eq=False, repr=False)
class PromptTooLong(RequestError):
    """The prompt has more tokens than the cache has positions."""

    n_tokens: int
    capacity: int

    def __str__(self) -> str:
        return f"the prompt has {self.n_tokens} tokens, the capacity is {self.capacity}"


@dataclass(eq=False, repr=False)
class PromptTokenOutOfRange(RequestError):
    """A prompt token is not in the vocabulary."""

    position: int
    token_id: int
    vocab_size: int

    def __str__(self) -> str:
        return (
            f"prompt token {shown(self.token_id)} at position {self.position} "
            f"is not in 0 … {self.vocab_size - 1}"
        )


@dataclass(eq=False, repr=False)
class PrefillRequiresEmpty(RequestError):
    """A prompt was given to a cache that already holds one."""

    length: int

    def __str__(self) -> str:
        return f"prefill needs an empty cache, this one holds {self.length} positions"


@dataclass(eq=False, repr=False)
class DecodeRequiresPrefill(RequestError):
    """A token was given to a cache that holds no prompt."""

    def __str__(self) -> str:
        return "decode needs a prefilled prompt, this cache holds 0 positions"


@dataclass(eq=False, repr=False)
class DecodeTokenOutOfRange(RequestError):
    """The token to decode is not in the vocabulary."""

    token_id: int
    vocab_size: int

    def __str__(self) -> str:
        return f"token {shown(self.token_id)} is not in 0 … {self.vocab_size - 1}"


@dataclass(eq=False, repr=False)
class CacheFull(RequestError):
    """The cache has no position left."""

    capacity: int

    def __str__(self) -> str:
        return f"the cache is full at its capacity of {self.capacity} positions"


@dataclass(eq=False, repr=False)
class EosTokenOutOfRange(RequestError):
    """The end-of-sequence token is not in the vocabulary."""

    token_id: int
    vocab_size: int

    def __str__(self) -> str:
        return f"EOS token {shown(self.token_id)} is not in 0 … {self.vocab_size - 1}"


@dataclass(eq=False, repr=False)
class InvalidTemperature(RequestError):
    """The sampling temperature is not finite and positive."""

    value: object

    def __str__(self) -> str:
        return f"the temperature must be finite and > 0, got {shown(self.value)}"


@dataclass(eq=False, repr=False)
class InvalidTopK(RequestError):
    """The number of candidates is not between 1 and the vocabulary size."""

    k: int
    vocab_size: int

    def __str__(self) -> str:
        return f"k must be in 1 … {self.vocab_size}, got {shown(self.k)}"


@dataclass(eq=False, repr=False)
class InvalidBudget(RequestError):
    """The number of tokens to generate is negative."""

    value: int

    def __str__(self) -> str:
        return f"max_new_tokens must be at least 0, got {shown(self.value)}"


@dataclass(eq=False, repr=False)
class TargetCountMismatch(RequestError):
    """There are not as many targets as tokens."""

    n_tokens: int
    n_targets: int

    def __str__(self) -> str:
        return f"there are {self.n_tokens} tokens and {self.n_targets} targets"


@dataclass(eq=False, repr=False)
class TargetOutOfRange(RequestError):
    """A target is not in the vocabulary."""

    position: int
    token_id: int
    vocab_size: int

    def __str__(self) -> str:
        return (
            f"target {shown(self.token_id)} at position {self.position} "
            f"is not in 0 … {self.vocab_size - 1}"
        )


@dataclass(eq=False, repr=False)
class SessionClosed(RequestError):
    """The session was used after it was closed."""

    def __str__(self) -> str:
        return "the session is closed"


@dataclass(eq=False, repr=False)
class SessionBusy(RequestError):
    """A call came while another call was inside the session."""

    def __str__(self) -> str:
        return "another call is inside this session"


@dataclass(eq=False, repr=False)
class CacheInUse(RequestError):
    """Another session is open on the cache, or a call on it has not returned yet."""

    def __str__(self) -> str:
        return "the cache is in use by another open session or call"
