"""The commands that measure: what the bound sees, how sharp it is, where floats end."""

import argparse
from functools import partial
from itertools import product
from typing import get_args

from rich.console import Console

from engine.arrays import DType
from properties.commanding import FOUND, OK, Command, count, going
from properties.failures import kept
from properties.judge import Judge
from properties.mutants_command import add_options as add_mutants_options, hunt_mutants
from properties.scale import require_complete, scale_table, sweep
from properties.scaled import scaled_scripts
from properties.sharpness import CASES, measured, sharpness_table
from properties.strength_command import add_options, strength


def add_measuring(command: Command) -> None:
    """Add them."""
    strong = command(
        "strength", _strength, "show what the bound sees, and what others see"
    )
    add_options(strong, count)
    proving = command("mutants", _mutants, "hunt engines that are wrong in one line")
    add_mutants_options(proving, count)
    command("scale", _scale, "judge every stage up to the edge of overflow and beyond")
    command("sharpness", _sharpness, "show how far the bound is from the errors made")


def _strength(options: argparse.Namespace) -> int:
    return OK if strength(options, partial(going, "models")) else FOUND


def _mutants(options: argparse.Namespace) -> int:
    return OK if hunt_mutants(options) else FOUND


def _scale(_options: argparse.Namespace) -> int:
    with kept():
        swept = sweep(Judge(), going("scripts", list(scaled_scripts())))
    require_complete(swept)
    Console().print(scale_table(swept))
    return OK


def _sharpness(_options: argparse.Namespace) -> int:
    cases = list(product(CASES, get_args(DType)))
    measures = [measured(*case, dtype) for case, dtype in going("prefixes", cases)]
    Console().print(sharpness_table(measures))
    is_safe = min(min(each.engine.min(), each.replay.min()) for each in measures) >= 1
    return OK if is_safe else FOUND
