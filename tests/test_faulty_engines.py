"""Engines of others under planned faults: what they need, and what rejects them."""

from collections.abc import Mapping

import pytest

from engine import AdamWConfig, DecoderConfig, Probe
from engine.arrays import Array, Vector
from engine.stages import row_places
from properties.built_in import BuiltIn
from properties.calls import Call, Decode, Prefill
from properties.chapter import CONFIG
from properties.judge import Judge, PropertyFailed
from properties.points import points_between
from properties.script import Fault, ScriptRejected
from properties.subject import Answer, Offer, Subject
from reference import replay
from tests.black_boxes import make
from tests.judged import GROWS, script_of
from tests.planned import fault

ROW = len(row_places(CONFIG.n_layers))


class Simple(Subject):
    """Replays all tokens, and calls a probe; offers neither refusals nor state."""

    offers = frozenset({Offer.PROBE})

    def __init__(
        self, config: DecoderConfig, weights: Mapping[str, Array], _: AdamWConfig
    ) -> None:
        self.config, self.values = config, weights
        self.tokens: tuple[int, ...] = ()
        self.probe: Probe | None = None

    def watch(self, probe: Probe) -> None:
        self.probe = probe

    def shown(self, value: Vector) -> Vector:
        return value.copy()

    def perform(self, call: Call) -> Answer:
        match call:
            case Prefill(prompt=prompt):
                return self.extended((), prompt)
            case Decode(token_id=token_id):
                return self.extended(self.tokens, (token_id,))
            case _:
                self.tokens = ()
        return Answer()

    def extended(self, held: tuple[int, ...], new: tuple[int, ...]) -> Answer:
        tokens = (*held, *new)
        logits = replay(self.config, self.values, tokens).logits[-1]
        for point in points_between(self.config.n_layers, len(held), len(tokens)):
            if self.probe is not None:
                self.probe(*point, self.shown(logits))
        self.tokens = tokens
        return Answer(logits=logits)


class Open(Simple):
    """Lets a probe write into what it goes on with."""

    def shown(self, value: Vector) -> Vector:
        return value


class Hasty(Simple):
    """Holds the new tokens before it is sure of them."""

    def extended(self, held: tuple[int, ...], new: tuple[int, ...]) -> Answer:
        self.tokens = (*held, *new)
        return super().extended(held, new)

    def perform(self, call: Call) -> Answer:
        if isinstance(call, Decode):
            return self.extended(self.tokens, (call.token_id,))
        return super().perform(call)


SPLIT = (*GROWS, Decode(token_id=1))
PLANS = [fault(1, 4), fault(1, 4, "KeyboardInterrupt"), fault(0, ROW, "MemoryError")]


@pytest.mark.parametrize("plan", PLANS)
def test_engine_that_offers_but_a_probe_is_judged(plan: Fault) -> None:
    again = (*GROWS[: plan.call + 1], *SPLIT[plan.call :])

    assert Judge(Simple)(script_of(*again, faults=(plan,))).n_skipped == 0


@pytest.mark.parametrize("plan", PLANS[:2])
def test_engine_that_holds_too_early_is_rejected(plan: Fault) -> None:
    with pytest.raises(PropertyFailed) as failure:
        Judge(Hasty)(script_of(*SPLIT, faults=(plan,)))

    assert [law.id for law in failure.value.broken] == ["P1", "A2"]


def test_engine_that_hands_a_probe_its_own_values_is_rejected() -> None:
    with pytest.raises(PropertyFailed) as failure:
        Judge(Open)(script_of(*SPLIT, faults=(fault(2, 4),)))

    assert failure.value.law.id == "P1"
    assert failure.value.call == SPLIT[0]


def test_engine_without_a_probe_meets_no_faults() -> None:
    script = script_of(*GROWS, faults=(fault(0, 0),))

    with pytest.raises(ScriptRejected, match="offers no probe"):
        Judge(make)(script)


class Interrupted(BuiltIn):
    """A user presses Ctrl-C."""

    def perform(self, call: Call) -> Answer:
        del call
        raise KeyboardInterrupt


def test_interrupt_that_nobody_planned_is_the_users() -> None:
    with pytest.raises(KeyboardInterrupt):
        Judge(Interrupted)(
            script_of(*GROWS, faults=(fault(0, 0, "KeyboardInterrupt"),))
        )
