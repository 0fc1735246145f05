"""Scripts of another size: what becomes of their tokens, parameters and faults."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from engine.stages import row_places
from properties.calls import (
    BindRebuilt,
    Call,
    Decode,
    Generate,
    NewDecoder,
    Prefill,
    Step,
    Token,
    Train,
)
from properties.fewer import row_points
from properties.script import Fault, Script, Weights

PER_BLOCK: Final = 9
"""Parameters of a block; one comes before all blocks."""
_BLOCK: Final = re.compile(r"blocks\.(\d+)\.")


def with_blocks(script: Script, n_layers: int) -> Script:
    """Of so many blocks; faults stay at their stage, flaws at their parameter."""
    old = script.config.n_layers
    calls = tuple(_with_blocks(call, old, n_layers) for call in script.calls)
    faults = tuple(_fault_with_blocks(each, old, n_layers) for each in script.faults)
    update = {
        "config": replace(script.config, n_layers=n_layers),
        "weights": _weights_with_blocks(script.weights, n_layers),
        "calls": calls,
        "faults": faults,
    }
    return script.model_copy(update=update)


def with_vocabulary(script: Script, vocab_size: int) -> Script:
    """Of so many tokens; known ones stay known, and others as far off as they were."""
    old = script.config.vocab_size

    def known(token: Token) -> Token:
        if isinstance(token, bool) or token < 0:
            return token
        return token % vocab_size if token < old else token - old + vocab_size

    update = {
        "config": replace(script.config, vocab_size=vocab_size),
        "calls": tuple(_with_tokens(call, known) for call in script.calls),
    }
    return script.model_copy(update=update)


def shortened(script: Script, index: int, run: range | None = None) -> Script:
    """With a call's prompt without a run of tokens, else the last; faults stay put.

    A fault stays at its stage of its row, or goes to the first row after the run.
    """
    call = script.calls[index]
    prompt = prompt_of(call)
    gone = range(len(prompt) - 1, len(prompt)) if run is None else run
    if not prompt or not gone:
        return script

    def rest(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
        return tokens[: gone.start] + tokens[gone.stop :]

    if isinstance(call, Train):
        update = {"tokens": rest(call.tokens), "targets": rest(call.targets)}
    else:
        update = {"prompt": rest(prompt)}
    calls = list(script.calls)
    calls[index] = call.model_copy(update=update)
    points = row_points(script.config)
    faults = tuple(
        _fault_without_rows(each, gone, points) if each.call == index else each
        for each in script.faults
    )
    return script.model_copy(update={"calls": tuple(calls), "faults": faults})


def prompt_of(call: Call) -> tuple[Token, ...]:
    match call:
        case Prefill() | Generate():
            return call.prompt
        case Train():
            return call.tokens
        case _:
            return ()


def _with_tokens(call: Call, known: Callable[[Token], Token]) -> Call:
    """With each token that a call has replaced."""
    match call:
        case Prefill(prompt=prompt) | Generate(prompt=prompt):
            update: dict[str, object] = {"prompt": tuple(map(known, prompt))}
        case Decode(token_id=token_id):
            update = {"token_id": known(token_id)}
        case Train(tokens=tokens, targets=targets):
            update = {
                "tokens": tuple(map(known, tokens)),
                "targets": tuple(map(known, targets)),
            }
        case _:
            return call
    if isinstance(call, Generate) and call.eos_token is not None:
        update["eos_token"] = known(call.eos_token)
    if isinstance(call, Generate) and call.sampling and call.sampling.k > 0:
        k = known(call.sampling.k - 1)
        update["sampling"] = call.sampling.model_copy(update={"k": k + 1})
    return call.model_copy(update=update)


def _with_blocks(call: Call, old: int, new: int) -> Call:
    match call:
        case NewDecoder(rebuilt=rebuilt) | BindRebuilt(rebuilt=rebuilt):
            kept = tuple(dict.fromkeys(_parameter(each, old, new) for each in rebuilt))
            return call.model_copy(update={"rebuilt": kept})
        case Step(flaw=flaw) if flaw is not None:
            index = _parameter(flaw.index, old, new)
            return call.model_copy(
                update={"flaw": flaw.model_copy(update={"index": index})}
            )
        case _:
            return call


def _parameter(index: int, old: int, new: int) -> int:
    """The same parameter, of the last block if its own is gone; the first, of none."""
    block, place = divmod(index - 1, PER_BLOCK)
    if index == 0 or block < new:
        return index
    if block >= old:
        return index - PER_BLOCK * (old - new)
    return 1 + PER_BLOCK * (new - 1) + place if new else 0


def _fault_with_blocks(fault: Fault, old: int, new: int) -> Fault:
    places, left = row_places(old), row_places(new)
    row, place = divmod(fault.point, len(places))
    stage, layer = places[place]
    there = stage, layer if layer is None else min(layer, new - 1)
    within = left.index(there) if there in left else 0
    return fault.model_copy(update={"point": row * len(left) + within})


def _fault_without_rows(fault: Fault, gone: range, points: int) -> Fault:
    row, place = divmod(fault.point, points)
    left = row - len(gone) if row >= gone.stop else min(row, gone.start)
    return fault.model_copy(update={"point": left * points + place})


def _weights_with_blocks(weights: Weights, n_layers: int) -> Weights:
    factors = dict[str, float]()
    for name, factor in weights.factors:
        block = _BLOCK.match(name)
        if block is None or int(block[1]) < n_layers:
            factors[name] = factor
        elif n_layers:
            factors.setdefault(_BLOCK.sub(f"blocks.{n_layers - 1}.", name), factor)
    return weights.model_copy(update={"factors": tuple(factors.items())})
