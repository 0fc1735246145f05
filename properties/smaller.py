"""Smaller scripts than a script, boldest first, and what makes one smaller.

A pass makes one kind of smaller scripts. Whatever has an order is in one of them: calls
and faults can go, tokens and numbers get less, the decoder gets smaller and plainer;
what only together can get less is tried together.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Final, TypeAlias

from properties import fewer, plainer
from properties.lesser import lesser_records, runs, runs_of, size
from properties.resized import prompt_of, shortened
from properties.script import LARGE_STEP, Script

Pass: TypeAlias = Callable[[Script], Iterator[Script]]

_BOLD: Final[tuple[Pass, ...]] = plainer.plainest, fewer.without_objects
_FINE: Final[tuple[Pass, ...]] = (
    plainer.plain,
    plainer.fewer_blocks,
    plainer.fewer_tokens_known,
    plainer.fewer_features,
    plainer.less_capacity,
    plainer.plainer_constants,
    fewer.without_pairs,
)


def passes(script: Script) -> Iterator[Pass]:
    """Each kind of smaller scripts, by boldness; there are more for a longer one."""
    yield from _BOLD
    n_calls = len(script.calls)
    length = n_calls
    while length:
        yield partial(_without_run, length)
        length //= 2
    yield _without_one
    yield fewer.with_first_objects
    yield fewer.merged
    yield _fewer_faults
    for index in reversed(range(n_calls)):
        yield partial(_lesser_call, index)
    yield from _FINE


def smaller(script: Script) -> Iterator[Script]:
    """Every script that is tried in place of this one; some are no scripts."""
    for each in passes(script):
        yield from each(script)


def size_of(script: Script) -> tuple[int, int]:
    """How many calls a script has, and how large all else in it is."""
    config, optimizer = script.config, script.optimizer
    odd = [getattr(config, field) != value for field, value in plainer.PLAIN.items()]
    plain = asdict(LARGE_STEP)
    odd += [value != plain[name] for name, value in asdict(optimizer).items()]
    sizes = (each for each in asdict(config).values() if isinstance(each, int))
    parts = size("weights", script.weights), *map(partial(size, ""), script.calls)
    faults = size("", script.faults)
    return len(script.calls), sum(sizes) + sum(odd) + sum(parts) + faults


def n_rows(script: Script) -> int:
    """About how many rows are computed for it: one for each token, two at the end."""
    prompts = sum(len(prompt_of(call)) for call in script.calls)
    return len(script.calls) + prompts + 2


def _without_run(length: int, script: Script) -> Iterator[Script]:
    for run in runs_of(length, len(script.calls)):
        yield fewer.without_calls(script, run)


def _without_one(script: Script) -> Iterator[Script]:
    """Without one call, on which others depend."""
    for index in reversed(range(len(script.calls))):
        yield from fewer.without_age(script, index)
        yield from fewer.with_fault_later(script, index)


def _fewer_faults(script: Script) -> Iterator[Script]:
    faults, vocab_size = script.faults, script.config.vocab_size
    for run in runs(len(faults)):
        left = faults[: run.start] + faults[run.stop :]
        yield script.model_copy(update={"faults": left})
    for index, fault in enumerate(faults):
        for less in lesser_records(fault, vocab_size):
            others = *faults[:index], less, *faults[index + 1 :]
            yield script.model_copy(update={"faults": others})


def _lesser_call(index: int, script: Script) -> Iterator[Script]:
    """With less in one call, if there are so many."""
    if index >= len(script.calls):
        return
    calls, vocab_size = script.calls, script.config.vocab_size
    for less in lesser_records(calls[index], vocab_size):
        others = *calls[:index], less, *calls[index + 1 :]
        yield script.model_copy(update={"calls": others})
    for run in runs(len(prompt_of(calls[index]))):
        yield shortened(script, index, run)
