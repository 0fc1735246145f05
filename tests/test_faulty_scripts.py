"""Planned faults: where they strike, what comes of them, and what is no plan."""

from collections.abc import Mapping

import pytest

from engine import AdamWConfig, DecoderConfig, Probe, Stage
from engine.arrays import Array, Vector
from engine.stages import row_places
from properties.built_in import BuiltIn
from properties.calls import (
    Bind,
    Call,
    Close,
    Decode,
    Generate,
    Prefill,
    Reset,
    Sampling,
)
from properties.chapter import CONFIG
from properties.judge import Judge, PropertyFailed
from properties.points import Point, points_between
from properties.record import Seen
from properties.script import Fault, ScriptRejected
from properties.subject import Answer, Offer, Subject
from reference import replay
from tests.black_boxes import make
from tests.judged import GROWS, closing, script_of
from tests.planned import fault

ROW = len(row_places(CONFIG.n_layers))
LAST = Point(Stage.COMMIT, None, 2)


def seen_of(*calls: Call, faults: tuple[Fault, ...]) -> tuple[Seen, ...]:
    return Judge()(script_of(*calls, faults=faults)).seen


@pytest.mark.parametrize(
    ("raises", "outcome"),
    [
        ("Exception", "StageFailed"),
        ("MemoryError", "StageFailed"),
        ("FloatingPointError", "StageFailed"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_fault_ends_its_call_and_no_other(raises: str, outcome: str) -> None:
    calls = (*GROWS, *GROWS[1:])

    seen = seen_of(*calls, faults=(fault(1, ROW, raises),))

    assert [each.outcome for each in seen] == ["done", outcome, "done"]
    assert [each.struck for each in seen] == [None, LAST, None]
    assert [each.length for each in seen] == [2, 2, 3]


def test_fault_beyond_the_last_point_never_strikes() -> None:
    seen = seen_of(*GROWS, faults=(fault(1, ROW + 1, persists=True),))

    assert [each.outcome for each in seen] == ["done", "done"]


def test_fault_persists_until_another_comes() -> None:
    calls = (*GROWS, Decode(token_id=1), Reset(), Prefill(prompt=(0,)), Close(), Bind())
    again = Prefill(prompt=(1, 1))
    faults = (fault(1, 3, "MemoryError", persists=True), fault(7, 2 * ROW))

    seen = seen_of(*calls, again, again, faults=faults)

    failed, done = "StageFailed", "done"
    assert [each.outcome for each in seen] == [
        *(done, failed, failed, done, failed, done, done),
        *(failed, done),
    ]
    assert [each.struck for each in seen if each.struck is not None] == [
        Point(Stage.KEY, 0, 2),
        Point(Stage.EMBEDDING, None, 2),
        Point(Stage.EMBEDDING, None, 0),
        Point(Stage.COMMIT, None, 1),
    ]


def test_fault_that_persists_ends_with_the_script() -> None:
    script = script_of(*GROWS, faults=(fault(0, 0, persists=True),))

    assert closing(Judge()(script))[-2:] == 2 * [("decode", "done")]


@pytest.mark.parametrize("call", [Decode(token_id=9), Prefill(prompt=(0,)), Reset()])
def test_refused_call_meets_no_fault(call: Call) -> None:
    calls = (Prefill(prompt=(0, 1)), call)

    with_fault = seen_of(*calls, faults=(fault(1, 0),))

    assert with_fault == seen_of(*calls, faults=())


def test_failure_of_its_own_comes_first_or_the_fault_does() -> None:
    """Weights of 1e100 overflow within the first row."""
    call = Prefill(prompt=(0, 1))
    natural = Judge()(script_of(call, scale=1e100)).seen[0]
    met = [
        Judge()(script_of(call, scale=1e100, faults=(fault(0, point),))).seen[0].struck
        for point in range(ROW)
    ]
    n_struck = sum(point is not None for point in met)
    places = row_places(CONFIG.n_layers)

    assert natural.outcome == "StageFailed"
    assert 0 < n_struck < ROW
    assert met[n_struck:] == (ROW - n_struck) * [None]
    assert [each[:2] for each in met if each is not None] == list(places[:n_struck])


def test_fault_in_a_generation_strikes_in_its_prompt_or_later() -> None:
    """Two tokens are read and committed, then one."""
    call = Generate(prompt=(0, 1), sampling=Sampling(temperature=1.0, k=2))
    points = 0, 2 * ROW, 2 * ROW + 1, 3 * ROW + 1, 3 * ROW + 2

    met = [seen_of(call, faults=(fault(0, each),))[0].struck for each in points]

    assert met == [
        Point(Stage.EMBEDDING, None, 0),
        Point(Stage.COMMIT, None, 1),
        Point(Stage.EMBEDDING, None, 2),
        Point(Stage.COMMIT, None, 2),
        None,
    ]


def test_generation_of_nothing_meets_no_fault() -> None:
    call = Generate(prompt=(0,), max_new_tokens=0)

    assert seen_of(call, faults=(fault(0, 0),))[0].outcome == "done"


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ((fault(2, 0),), "a fault is planned for call 2"),
        ((fault(1, 0), fault(0, 0)), "in the order of their calls"),
        ((fault(0, 0), fault(0, 1)), "one a call"),
    ],
)
def test_plan_that_is_none_is_rejected(faults: tuple[Fault, ...], reason: str) -> None:
    with pytest.raises(ScriptRejected, match=reason):
        Judge()(script_of(*GROWS, faults=faults))


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
