"""Fixtures of several files."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from autograd.tracer import trace_stack

from engine.checkpoint import save
from engine.splitmix import SplitMix64
from tests.odd_numbers import odd_decoder, odd_optimizer, step_by_a_third


@pytest.fixture
def leaves_no_global_trace() -> Iterator[None]:
    """Whatever a test does: the tracer's counter and NumPy's settings stay."""
    before = (trace_stack.top, np.geterr())
    yield

    assert (trace_stack.top, np.geterr()) == before


@pytest.fixture
def traced_bytecodes() -> None:
    """A call can be stopped before any of its bytecodes."""
    if sys.version_info[:2] == (3, 12):
        pytest.skip("CPython 3.12 traces no bytecode of a frame that has just begun")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """Where to save a checkpoint; at the end there is nothing else."""
    folder = tmp_path / "folder"
    folder.mkdir()
    yield folder / "file"

    assert {each.name for each in folder.iterdir()} <= {"file"}


@pytest.fixture
def saved(path: Path) -> Path:
    """A file with all there can be: a stepped decoder, its optimizer, a generator."""
    decoder, optimizer = odd_decoder(), odd_optimizer()
    step_by_a_third(decoder, optimizer)
    save(path, decoder, optimizer, SplitMix64(2**64 - 1))
    return path
