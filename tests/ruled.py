"""One case for each rule of rounding, at any scale."""

from typing import Final

import numpy as np

from properties.rounding import Floats, Off, Rounding
from tests.perturbed import Case

WIDTH: Final = 6
N_TOKENS: Final = 4
FAINT: Final = 1e-7
"""So little that every operation is linear, and much more than a rounding."""


def drawn(rng: np.random.Generator, *shape: int) -> Floats:
    """Numbers of both signs, none of them nearly 0, that are float32 too."""
    signs = rng.choice([-1.0, 1.0], shape)
    numbers: Floats = (signs * rng.uniform(0.5, 2.0, shape)).astype(np.float32)
    return numbers.astype(np.float64)


def off(rng: np.random.Generator, scale: float, *shape: int) -> Off:
    """Each number is off by another amount."""
    amounts: Floats = FAINT * scale * rng.uniform(0.5, 2.0, shape)
    return Off(scale * drawn(rng, *shape), amounts)


def cases(scale: float = 1.0, seed: int = 5) -> dict[str, Case]:
    """By the rule's name; the scale is that of all that an operation takes linearly."""
    rng = np.random.default_rng(seed)
    return _of_rows(rng, scale) | _of_heads(rng, scale)


def _of_rows(rng: np.random.Generator, scale: float) -> dict[str, Case]:
    matrix, gain = drawn(rng, WIDTH, 3), drawn(rng, WIDTH)
    epsilon = 0.3 if scale == 1 else 0.0

    def rows(scale: float = scale) -> Off:
        return off(rng, scale, N_TOKENS, WIDTH)

    return {
        "product": Case(
            (rows(),),
            lambda x: x @ matrix.astype(x.dtype),
            lambda rule, x, made: rule.product(x, matrix, made),
        ),
        "residual": Case((rows(), rows()), np.add, Rounding.residual),
        "norm": Case(
            (rows(),),
            lambda x: normed(x, epsilon) * gain.astype(x.dtype),
            lambda rule, x, _made: rule.norm(x, gain, epsilon),
        ),
        "gated": Case((rows(1.0), rows()), gated, Rounding.gated),
    }


def _of_heads(rng: np.random.Generator, scale: float) -> dict[str, Case]:
    angles: Floats = rng.uniform(0, 6, (N_TOKENS, WIDTH // 2))
    scores = off(rng, 1, 2, N_TOKENS, N_TOKENS)
    exact = Off(visible_softmax(scores.value), np.zeros_like(scores.value))

    def heads(scale: float = scale) -> Off:
        return off(rng, scale, 2, N_TOKENS, WIDTH)

    return {
        "rotation": Case(
            (heads(),),
            lambda x: turned(x, angles),
            lambda rule, x, _made: rule.rotation(x, angles, 0 * angles[0]),
        ),
        "scores": Case((heads(), heads(1 / scale)), scored, Rounding.scores),
        "softmax": Case((scores,), visible_softmax, only_weights),
        "mixture": Case(
            (heads(),),
            lambda v: visible_softmax(scores.value.astype(v.dtype)) @ v,
            lambda rule, v, made: rule.mixture(exact, 0 * exact.bound, v, made),
        ),
        "attention": Case((scores, heads()), mixed, mixed_off),
    }


def normed(x: Floats, epsilon: float) -> Floats:
    high = np.abs(x).max(axis=-1, keepdims=True)
    unit = x / high
    mean = np.mean(unit * unit, axis=-1, keepdims=True) + epsilon / high / high
    rows: Floats = unit / np.sqrt(mean)
    return rows


def turned(x: Floats, angles: Floats) -> Floats:
    heads = np.empty_like(x)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    heads[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    heads[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return heads


def scored(q: Floats, k: Floats) -> Floats:
    root = np.sqrt(q.dtype.type(q.shape[-1]))
    scores: Floats = q @ np.swapaxes(k, -1, -2) / root
    return scores


def visible_softmax(scores: Floats) -> Floats:
    visible = np.tri(scores.shape[-1], dtype=bool)
    masked = np.where(visible, scores, scores.dtype.type(-np.inf))
    exponentials = np.exp(masked - masked.max(axis=-1, keepdims=True))
    weights: Floats = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights


def only_weights(rule: Rounding, scores: Off, made: Floats) -> Floats:
    """What they may be off, without their drift."""
    return rule.softmax(scores, made)[0]


def mixed(scores: Floats, values: Floats) -> Floats:
    mixture: Floats = visible_softmax(scores) @ values
    return mixture


def mixed_off(rule: Rounding, scores: Off, values: Off, made: Floats) -> Floats:
    """What the mixture may be off: by two rules, the first one's results between."""
    weights = visible_softmax(scores.value)
    bound, drift = rule.softmax(scores, weights)
    return rule.mixture(Off(weights, bound), drift, values, made)


def gated(gate: Floats, up: Floats) -> Floats:
    product: Floats = gate / (1 + np.exp(-gate)) * up
    return product
