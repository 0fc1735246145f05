"""An interrupted step, construction, generation or save happened, or did not."""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from engine import (
    AdamW,
    Decoder,
    KVCache,
    SplitMix64,
    generate,
    loss_and_gradients,
    save,
)
from tests.interruption import Scene, sweep
from tests.models import (
    ADAMW,
    PROMPT,
    SEED,
    TINY,
    World,
    decoder_of,
    held,
    logical,
    ones_for,
    step_once,
)
from tests.undisturbed import EXPECTED, TOP_2, loss_bits

pytestmark = pytest.mark.usefixtures("no_collector_callbacks", "traced_bytecodes")

N_ALARMS: Final = 300
SECONDS_BETWEEN: Final = 0.0023
SECONDS_OF_SIGNALS: Final = 4.0


def step() -> Scene:
    world = World.closed()
    parameters = world.decoder.parameters
    gradients = ones_for(parameters)
    before = held(world.decoder), world.optimizer.snapshot()
    after = EXPECTED.values, EXPECTED.optimizer

    def check() -> None:
        found = held(world.decoder), world.optimizer.snapshot()
        assert found in (before, after)
        if found == before:
            KVCache(world.decoder).bind(world.decoder).close()
            world.optimizer.step(parameters, gradients)
        assert (held(world.decoder), world.optimizer.snapshot()) == after
        KVCache(world.decoder).bind(world.decoder).close()
        step_once(world.decoder)

    return Scene(lambda: world.optimizer.step(parameters, gradients), check)


def initialize() -> Scene:
    rng = SplitMix64(SEED)

    def check() -> None:
        assert rng.state in (SEED, EXPECTED.initialized)

    return Scene(lambda: Decoder.initialize(TINY, rng), check)


def generating() -> Scene:
    decoder = decoder_of()
    rng = SplitMix64(SEED)

    def check() -> None:
        assert rng.state in (SEED, EXPECTED.drawn)
        rng.state = SEED
        assert generate(decoder, [0], TOP_2, rng) == EXPECTED.generation
        assert rng.state == EXPECTED.drawn
        step_once(decoder)

    return Scene(lambda: generate(decoder, [0], TOP_2, rng), check)


def differentiating() -> Scene:
    decoder = decoder_of()
    before = held(decoder)

    def check() -> None:
        assert held(decoder) == before
        assert loss_bits(decoder) == EXPECTED.loss
        step_once(decoder)

    return Scene(lambda: loss_and_gradients(decoder, [0], [1]), check)


@pytest.mark.parametrize(
    "arrange",
    [
        step,
        initialize,
        generating,
        differentiating,
    ],
)
def test_interrupted_call_happened_or_did_not(arrange: Callable[[], Scene]) -> None:
    assert sweep(arrange) > 0


# Between opening and its ``with`` a file is left to the collector, which closes it.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("replaces", [True, False])
def test_interrupted_save_leaves_the_old_file_or_the_new(
    tmp_path: Path, *, replaces: bool
) -> None:
    old, new = decoder_of(), World.stepped().decoder
    path = tmp_path / "decoder.safetensors"
    save(path, old)
    old_bytes = path.read_bytes()
    save(path, new)
    new_bytes = path.read_bytes()

    def saving() -> Scene:
        path.unlink()
        if replaces:
            path.write_bytes(old_bytes)

        def check() -> None:
            found = [(each, each.read_bytes()) for each in tmp_path.iterdir()]
            before = [(path, old_bytes)] if replaces else []
            assert found in (before, [(path, new_bytes)])
            save(path, new)
            assert path.read_bytes() == new_bytes

        return Scene(lambda: save(path, new), check)

    assert sweep(saving) > 0


class Alarm(BaseException):
    """What a signal handler may raise."""


def under_alarms(
    act: Callable[[], None], check: Callable[[], None], armed: list[bool]
) -> int:
    """Act again and again, check after every alarm, and count them.

    Nothing rings unless ``armed`` holds something, so a check is never disturbed.
    """

    def ring(*_: object) -> None:
        if armed:
            armed.clear()
            raise Alarm

    n_alarms = 0
    deadline = time.monotonic() + SECONDS_OF_SIGNALS
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_BETWEEN, SECONDS_BETWEEN)
    try:
        while n_alarms < N_ALARMS and time.monotonic() < deadline:
            try:
                act()
            except Alarm:
                n_alarms += 1
                check()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return n_alarms


def test_signals_at_any_moment_leave_what_works_on() -> None:
    """The clock decides where they arrive; what must hold does not depend on it."""
    world = World.closed()
    trained = decoder_of()
    optimizer = AdamW(ADAMW)
    armed: list[bool] = []

    def act() -> None:
        armed.append(True)
        optimizer.step(trained.parameters, ones_for(trained.parameters))
        with world.cache.bind(world.decoder) as world.session:
            world.session.reset()
            world.session.prefill(PROMPT)
            world.session.decode(2)
            world.session.decode(1)
        armed.clear()

    def check() -> None:
        world.session.close()
        assert logical(world.cache) in EXPECTED.states
        world.cache.bind(world.decoder).close()
        revisions = {each.revision for each in trained.parameters}
        assert revisions == {optimizer.snapshot().step}

    n_alarms = under_alarms(act, check, armed)

    assert n_alarms > 0
    step_once(world.decoder)
    undisturbed, same = AdamW(ADAMW), decoder_of()
    while undisturbed.snapshot().step < optimizer.snapshot().step:
        undisturbed.step(same.parameters, ones_for(same.parameters))
    assert (held(trained), optimizer.snapshot()) == (held(same), undisturbed.snapshot())
