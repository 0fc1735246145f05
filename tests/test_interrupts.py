"""The sweep of interrupts finds what it is for, in engines that are half done once."""

import sys
from functools import partial
from types import FrameType

import pytest

import engine
from engine import cache, occupants, undo
from engine.session import DecoderSession
from engine.tokens import exact_token
from properties.interrupts import (
    SCENES,
    HalfDone,
    sweep,
    sweep_all,
    swept_table,
    verdict,
)
from properties.interrupts.surface import entered, public_calls
from tests.half_done import FAULTS, Fault, rewritten
from tests.models import World, logical


def found(scene: str, stride: int = 1) -> str:
    """What a sweep says of an engine that is wrong."""
    with pytest.raises(HalfDone) as caught:
        sweep(scene, SCENES[scene], stride=stride)
    return str(caught.value)


# A file that is written in place is open when it is struck.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_sweep_finds(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = rewritten(vars(fault.place)[fault.name], fault.old, fault.new)
    monkeypatch.setattr(fault.place, fault.name, wrong)

    told = found(fault.scene, fault.stride)

    assert told.startswith(f"A3 interrupt: {fault.scene}, KeyboardInterrupt at ")
    assert fault.tells in told


def test_sweep_finds_a_call_that_stays_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a flag would that ``finally`` takes down: nobody asks whether a frame runs."""
    leaving = rewritten(
        occupants.run_inside,
        """\
            _leave(places, sys._getframe())
        except BaseException:
            _leave(places, sys._getframe())
            raise
    except BaseException:
        _leave(places, sys._getframe())
        raise
""",
        """\
            pass
        finally:
            _leave(places, sys._getframe())
    finally:
        pass
""",
    )
    monkeypatch.setattr("engine.session.run_inside", leaving)
    monkeypatch.setattr(occupants.Occupants, "count", occupants.Occupants.__len__)

    assert "then came SessionBusy()" in found("reset")


def test_sweep_finds_a_session_that_is_not_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Something holds it for as long as it closes, so an interrupt keeps it there."""
    close = rewritten(
        DecoderSession.close,
        "run_inside(self._inside, self._give_back)",
        "HELD.append(self)\n        run_inside(self._inside, self._give_back)\n"
        "        HELD.clear()",
    )
    monkeypatch.setattr("engine.session.HELD", [], raising=False)
    monkeypatch.setattr(DecoderSession, "close", close)

    assert "then came CacheInUse()" in found("close, then drop")


def test_each_kind_of_interrupt_is_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that undoes a bind for ``KeyboardInterrupt`` and nothing else."""
    undoing = rewritten(
        undo.or_undo,
        """\
            return function()
        except BaseException:
            undo()
            raise
    except BaseException:
""",
        """\
            return function()
        finally:
            pass
    except KeyboardInterrupt:
""",
    )
    monkeypatch.setattr(cache, "or_undo", undoing)

    sweep("bind", SCENES["bind"], KeyboardInterrupt, stride=50)
    with pytest.raises(HalfDone, match="MemoryError at boundary"):
        sweep("bind", SCENES["bind"], MemoryError, stride=50)


def test_call_that_was_forgotten_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "exact_token", exact_token, raising=False)
    monkeypatch.setattr(engine, "__all__", [*engine.__all__, "exact_token"])
    session = World.prefilled().session

    reached = entered(partial(session.decode, 2))
    missing = {name for code, name in public_calls().items() if code not in reached}

    assert "exact_token" in missing
    assert "DecoderSession.decode" not in missing
    assert "DecoderSession.reset" in missing


def test_sweep_tells_what_it_did() -> None:
    swept = sweep_all(1, ["close", "collector"], [KeyboardInterrupt])

    close, collector = (each.engine for each in swept)
    assert close.n_boundaries == close.n_swept == close.n_before + close.n_after
    assert min(close.n_before, close.n_after) > 0
    assert collector.n_boundaries == 0
    assert verdict(swept).startswith(
        f"A3 holds. Calls: 2, with {close.n_swept} boundaries inside the engine; "
    )
    assert swept_table(swept).row_count == 2


def test_decode_that_is_interrupted_on_its_way_out_has_happened() -> None:
    """Where a function returns; unlike the sweep, the tracing of lines goes on."""
    world, undisturbed = World.prefilled(), World.prefilled()
    undisturbed.session.decode(2)

    def strike(frame: FrameType, event: str, _: object) -> None:
        if (event, frame.f_code.co_name) == ("return", "_commit"):
            raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(strike)
    try:
        with pytest.raises(KeyboardInterrupt):
            world.session.decode(2)
    finally:
        sys.setprofile(before)

    assert logical(world.cache) == logical(undisturbed.cache)
