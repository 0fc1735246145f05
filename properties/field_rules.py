"""The rules by which others tell a right cache from a wrong one, on the same logits.

Each takes the logits of a few steps, (n_steps, vocab_size), those that are due and
those that came, and tells whether it rejects. All steps read the same tokens, the ones
that a greedy decoder chooses; so up to the first step at which the two choose
differently they are what free generation gives, and no rule on tokens looks further.

Source:
    huggingface/transformers, ``_check_similar_generate_outputs``;
    vllm-project/vllm, ``check_logprobs_close``;
    sgl-project/sglang, ``compare_kl_divergence``, which estimates from the tokens that
    were drawn what is taken here of all.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from reference.replay import Reals

Rule: TypeAlias = Callable[[Reals, Reals], bool]

_SIMILAR: Final = 1e-5
_N_BEST: Final = 5
_DIVERGENCE: Final = 0.002


def first_token(due: Reals, came: Reals) -> bool:
    """The token of one step."""
    return parting(due[:1], came[:1]) is not None


def tokens(due: Reals, came: Reals) -> bool:
    """The tokens of all steps."""
    return parting(due, came) is not None


def tokens_or_scores(due: Reals, came: Reals) -> bool:
    """Equal tokens; or else scores within 1e-5 where they part."""
    step = parting(due, came)
    return step is not None and far(_SIMILAR, due[step:], came[step:])


def best_tokens(due: Reals, came: Reals) -> bool:
    """Equal tokens; or else each among the five best of the other where they part."""
    step = parting(due, came)
    if step is None:
        return False
    pair = due[step], came[step]
    return any(
        int(np.count_nonzero(theirs > theirs[own.argmax()])) >= _N_BEST
        for own, theirs in (pair, pair[::-1])
    )


def divergence(due: Reals, came: Reals) -> bool:
    """The Kullback-Leibler divergence, on average over all steps, below 0.002."""
    logs, others = _log_softmax(due), _log_softmax(came)
    each = np.sum(np.exp(logs) * (logs - others), axis=-1)
    return not float(np.mean(each)) < _DIVERGENCE


def far(tolerance: float, due: Reals, came: Reals) -> bool:
    """The logits of one step, absolute and relative tolerance alike."""
    return not np.allclose(came[0], due[0], rtol=tolerance, atol=tolerance)


def parting(due: Reals, came: Reals) -> int | None:
    """The first step at which the highest logits are of different tokens."""
    steps = np.flatnonzero(due.argmax(axis=-1) != came.argmax(axis=-1))
    return int(steps[0]) if steps.size else None


def _log_softmax(logits: Reals) -> Reals:
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    logs: Reals = shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
    return logs


FIELD_RULES: Final[Mapping[str, Rule]] = {
    "argmax": first_token,
    "5 tokens": tokens,
    "scores 1e-5": tokens_or_scores,
    "top 5": best_tokens,
    "mean KL 0.002": divergence,
    "allclose 1e-3": partial(far, 1e-3),
    "allclose 1e-5": partial(far, 1e-5),
    "allclose 1e-7": partial(far, 1e-7),
}
"""By the names that the table has."""
