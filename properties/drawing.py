"""How a rule of the machine gets its calls, and when it may be chosen."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from hypothesis import strategies as st

from properties.calls import Call
from properties.faulty_turns import Attempt, FaultyTurn
from properties.model import Model
from properties.refused_turns import before_a_decode
from properties.turns import Turn, anything

# Choosing a rule costs several hundred microseconds, and a call of these thirty.
_MORE: Final = st.sampled_from((2, 3, 4, 5, 6, 7))


class Maker(Protocol):
    """What makes a script: the calls so far, and the model on which they were made."""

    model: Model
    calls: list[Call]


@st.composite
def drawn(draw: st.DrawFn, turn: Turn) -> Sequence[Call]:
    """A turn for the model as it is when the rule is chosen.

    Anything follows, so that every kind of call comes after every other. The generator
    is Hypothesis's own: it can cut what was drawn.
    """
    maker: Maker = draw(st.runner())
    rng = draw(st.randoms())
    calls = turn(rng, maker.model)
    return [*calls, *anything(rng, maker.model, draw(_MORE))]


def drawn_as_refused(turn: Turn) -> st.SearchStrategy[Sequence[Call]]:
    """The same, and first a token that must be taken as if nothing had happened."""
    return drawn(before_a_decode(turn))


@st.composite
def drawn_to_fail(draw: st.DrawFn, turn: FaultyTurn) -> Attempt:
    """A turn with faults in it; what follows has only those that persist."""
    maker: Maker = draw(st.runner())
    rng = draw(st.randoms())
    calls, faults = turn(rng, maker.model)
    return Attempt([*calls, *anything(rng, maker.model, draw(_MORE))], faults)


def when(there_is: Callable[[Model], object]) -> Callable[[Maker], bool]:
    """Only while the model has such a thing."""
    return lambda maker: bool(there_is(maker.model))
