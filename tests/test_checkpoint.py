"""A checkpoint gives back what was saved, to the bit."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.adamw import AdamWSnapshot
from engine.checkpoint import load, save
from engine.decoder import Decoder
from engine.optimizer import AdamW
from engine.parameters import Parameter, held_by
from engine.splitmix import SplitMix64
from tests.odd_numbers import odd_decoder, odd_optimizer, step_by_a_third

ROOT = Path(__file__).parents[1]


def test_checkpoint_of_a_decoder_alone(path: Path) -> None:
    decoder = odd_decoder()
    save(path, decoder)
    loaded = load(path)

    assert repr(loaded.decoder.config) == repr(decoder.config)
    assert held_by(loaded.decoder.parameters) == held_by(decoder.parameters)
    assert (loaded.optimizer, loaded.rng) == (None, None)


def test_checkpoint_of_everything(path: Path) -> None:
    decoder, optimizer, rng = odd_decoder(), odd_optimizer(), SplitMix64(2**64 - 1)
    for _ in range(3):
        step_by_a_third(decoder, optimizer)
    values = [parameter.value.tobytes() for parameter in decoder.parameters]
    save(os.fspath(path), decoder, optimizer, rng)
    loaded = load(os.fspath(path))

    assert [each.value.tobytes() for each in loaded.decoder.parameters] == values
    assert {each.revision for each in loaded.decoder.parameters} == {0}
    assert {each.revision for each in decoder.parameters} == {3}
    assert loaded.optimizer is not None
    assert loaded.optimizer.snapshot() == optimizer.snapshot()
    assert loaded.rng is not None
    assert loaded.rng.state == rng.state == 2**64 - 1


def test_checkpoint_of_an_optimizer_before_its_first_step(path: Path) -> None:
    save(path, odd_decoder(), odd_optimizer())
    loaded = load(path)

    assert loaded.optimizer is not None
    assert loaded.optimizer.snapshot() == odd_optimizer().snapshot()


def test_checkpoint_of_an_optimizer_with_parameters_of_its_own(path: Path) -> None:
    decoder, optimizer = odd_decoder(), odd_optimizer()
    other = Parameter("other", np.array([0.5, -0.0]))
    optimizer.step([other, *decoder.parameters[:1]], [other.value, np.ones((3, 2))])
    save(path, decoder, optimizer)
    loaded = load(path)

    assert loaded.optimizer is not None
    assert loaded.optimizer.snapshot() == optimizer.snapshot()


def test_loaded_optimizer_goes_on_as_the_saved_one(saved: Path) -> None:
    decoder, optimizer = odd_decoder(), odd_optimizer()
    step_by_a_third(decoder, optimizer)
    loaded = load(saved)
    assert loaded.optimizer is not None
    step_by_a_third(decoder, optimizer)
    step_by_a_third(loaded.decoder, loaded.optimizer)

    assert [each.value.tobytes() for each in loaded.decoder.parameters] == [
        each.value.tobytes() for each in decoder.parameters
    ]


def test_equal_states_give_equal_bytes(saved: Path) -> None:
    """A process of its own has its own random order of hashed keys."""
    again = (
        "import sys; from engine.checkpoint import load, save; old = load(sys.argv[1]);"
        "save(sys.argv[1], old.decoder, old.optimizer, old.rng)"
    )
    content = saved.read_bytes()
    for _ in range(3):
        subprocess.run([sys.executable, "-c", again, saved], cwd=ROOT, check=True)

        assert saved.read_bytes() == content


def test_checkpoint_keeps_the_sign_of_zero(path: Path) -> None:
    made = odd_decoder()
    values = [np.copysign(0.0, parameter.value) for parameter in made.parameters]
    names = [parameter.name for parameter in made.parameters]
    decoder = Decoder(made.config, map(Parameter, names, values))
    save(path, decoder)

    assert held_by(load(path).decoder.parameters) == held_by(decoder.parameters)


def test_checkpoint_is_of_one_moment(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step between two looks, as another thread would take it."""
    decoder, optimizer = odd_decoder(), odd_optimizer()
    look = AdamW.snapshot
    looks = []

    def look_after_a_step(self: AdamW) -> AdamWSnapshot:
        looks.append(self)
        if len(looks) == 1:
            step_by_a_third(decoder, self)
        return look(self)

    monkeypatch.setattr(AdamW, "snapshot", look_after_a_step)
    save(path, decoder, optimizer)
    monkeypatch.undo()
    loaded = load(path)

    assert [each.value.tobytes() for each in loaded.decoder.parameters] == [
        each.value.tobytes() for each in decoder.parameters
    ]
    assert loaded.optimizer is not None
    assert loaded.optimizer.snapshot() == optimizer.snapshot()
