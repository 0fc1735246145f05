"""A call that died where an interrupt left its frame is no company."""

import sys
from types import FrameType

import pytest

from engine import SessionBusy
from engine.occupants import Occupants, run_inside


def dead() -> FrameType:
    """The frame of a call that has ended."""
    return sys._getframe()


def test_dead_frame_refuses_nobody() -> None:
    occupants = Occupants([dead()])

    run_inside([occupants], occupants.refuse_company)

    assert occupants == set()


def test_living_frame_beside_a_dead_one_refuses() -> None:
    occupants = Occupants([dead(), sys._getframe()])

    with pytest.raises(SessionBusy):
        run_inside([occupants], occupants.refuse_company)
