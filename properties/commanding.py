"""What the commands share: exit codes, and how far a long one has come."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from rich.console import Console
from rich.progress import track

OK, FOUND, UNUSABLE, INTERRUPTED = 0, 1, 2, 130

T = TypeVar("T")

Run: TypeAlias = Callable[[argparse.Namespace], int]
Command: TypeAlias = Callable[[str, Run, str], argparse.ArgumentParser]
"""Adds a command: its name, what it runs, and what it does."""


def count(text: str) -> int:
    """A number of times, as an option has it."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is no number of times")
    return int(text)


def going(what: str, steps: Sequence[T]) -> Iterable[T]:
    """The steps one by one, with a bar that shows how far they have come."""
    return track(steps, what, console=Console(stderr=True), transient=True)
