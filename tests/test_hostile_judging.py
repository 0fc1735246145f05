"""The judge of hostile values lets none of them end it."""

from contextlib import chdir
from pathlib import Path

import pytest

from properties.hostile.calls import PLACES
from properties.hostile.judging import Census, Hostile, withstand
from properties.hostile.trap import N_EXCEPTIONS


@pytest.mark.parametrize("beyond", range(3))
def test_error_may_hold_what_ends_a_program_when_pickled(
    beyond: int, tmp_path: Path
) -> None:
    """A refusal keeps the value that it refuses, and pickling it asks its class."""
    (place,) = (each for each in PLACES if str(each) == "DecoderConfig: dtype")
    hostile = Hostile("class that raises", N_EXCEPTIONS + beyond)
    with chdir(tmp_path):
        withstand(tmp_path, Census(), place, [hostile])
