"""What can be asked of generation, and what it answers: data without arithmetic."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias


class HasState(Protocol):
    """A generator of random numbers, as far as generation is concerned."""

    state: int


@dataclass(frozen=True, slots=True)
class Greedy:
    """Choose the highest logit, the lowest token ID among equals; draw nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK:
    """Draw from the ``k`` highest logits, divided by ``temperature``."""

    temperature: float
    k: int


Mode: TypeAlias = Greedy | TopK


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """How to choose tokens and when to stop; held as given, judged by ``generate``."""

    mode: Mode
    eos_token: int | None
    max_new_tokens: int


@dataclass(frozen=True, slots=True)
class GenerationStep:
    """One chosen token, and the draw that chose it from its interval.

    A greedy step has no draw and the interval [0, 1).
    """

    prefix_length: int
    token_id: int
    unit_draw: float | None
    interval_start: float
    interval_end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationWork:
    """The cache's exact work, and the scores that replaying every prefix would form."""

    prefill_tokens: int
    decode_tokens: int
    layer_caches: int
    cache_appends: int
    qkv_projection_rows: int
    cached_attention_scores: int
    replayed_attention_scores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The chosen tokens, why the choosing stopped, and the work it took.

    ``stop`` is ``"eos"``, ``"token-limit"`` or ``"context-limit"``; ``final_length``
    is the cache's length at the end.
    """

    prompt: tuple[int, ...]
    generated: tuple[int, ...]
    steps: tuple[GenerationStep, ...]
    stop: str
    final_length: int
    work: GenerationWork
