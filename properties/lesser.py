"""What is less than a value, and how large a value is.

Every kind of value has an order: numbers go towards 0, what may be left out goes. Where
numbers have no order of size, as seeds have none, the plainest is least. Whatever is
offered as less has a smaller size, so that nobody who takes it can go round in circles.
"""

import math
from collections.abc import Iterator
from typing import Final, TypeVar

from pydantic import ValidationError

from properties.calls import Record, Token
from properties.script import FAULTS

R = TypeVar("R", bound=Record)
T = TypeVar("T")

_FEW: Final = 64
"""Numbers up to this are tried one by one."""
_N_SEEDS: Final = 3
_PAIR: Final = 2
_SEEDS: Final = frozenset({"seed", "rng_state"})
_TOKENS: Final = frozenset({"prompt", "token_id", "tokens", "targets", "eos_token"})
_OF_FIXED_LENGTH: Final = frozenset({"work"})
_NAMES: Final = frozenset({"call", "version"})
"""Fields that say which, not how much."""
_PLAIN: Final = {"gain_spread": 0.0, "rope_base": 1.0, "rms_epsilon": 0.0}
"""Numbers of which only this one is less than any other."""


def numbers(number: int) -> Iterator[int]:
    """Integers nearer to 0, boldest first; all, if they are few.

    Of a negative one those that are negative too come before 0.
    """
    if number < 0:
        yield from (-each for each in numbers(-number) if each)
        yield 0
    elif number <= _FEW:
        yield from range(number)
    else:
        yield 0
        step = number // 2
        while step:
            yield number - step
            step //= 2 if step < _FEW else 16


def tokens(token: Token, vocab_size: int) -> Iterator[Token]:
    """Tokens that are less, and of the same kind: known, too large, negative, none.

    A number that is no token may be 0 in the end, if it need not be refused.
    """
    if isinstance(token, bool):
        yield from (False,) * token
    elif token < vocab_size:
        yield from numbers(token)
    else:
        yield from (vocab_size + each for each in numbers(token - vocab_size))
        yield 0


def powers(number: float) -> Iterator[float]:
    """Powers of ten nearer to 1, with its sign."""
    exponent = _exponent(number)
    sign = math.copysign(1.0, number)
    least = [sign * float(f"1e{each}") for each in (*numbers(exponent), exponent)]
    if number not in (0.0, 1.0, -1.0):
        yield from (each for each in dict.fromkeys((sign, *least)) if each != number)


def size_of_power(number: float) -> int:
    """How far it is from 1, in powers of ten, and whether it is none itself."""
    exponent = _exponent(number)
    is_odd = number != 0 and abs(number) != float(f"1e{exponent}")
    return 2 * abs(exponent) + is_odd


def runs(length: int) -> Iterator[range]:
    """Runs of neighbours, long ones first; of two, every one, else side by side."""
    size = length
    while size:
        yield from runs_of(size, length)
        size //= 2


def runs_of(size: int, length: int) -> Iterator[range]:
    """Those of one size; the last one may be shorter."""
    stride = 1 if size == _PAIR else size
    for start in range(0, length, stride):
        yield range(start, min(start + size, length))


def without_run(values: tuple[T, ...], run: range) -> tuple[T, ...]:
    """All but one run."""
    return values[: run.start] + values[run.stop :]


def lesser(name: str, value: object, vocab_size: int) -> Iterator[object]:
    """What is less than the value of a field, boldest first."""
    match value:
        case int():
            yield from _lesser_ints(name, value, vocab_size)
        case float():
            least = [_PLAIN[name]] if name in _PLAIN else powers(value)
            yield from (each for each in least if each != value)
        case str() if value in FAULTS:
            yield from FAULTS[: FAULTS.index(value)]
        case (str() as parameter, float() as factor):
            yield from ((parameter, each) for each in powers(factor))
        case tuple():
            yield from _lesser_tuples(name, value, vocab_size)
        case Record():
            yield from lesser_records(value, vocab_size)
        case _:
            pass  # is the least, or has no order


def lesser_records(record: R, vocab_size: int) -> Iterator[R]:
    """The record without one of its fields, or with a lesser one."""
    for name, field in type(record).model_fields.items():
        value = getattr(record, name)
        if name in _NAMES or value is None:
            continue
        if field.default is None:
            yield record.model_copy(update={name: None})
        for less in lesser(name, value, vocab_size):
            try:
                yield record.model_validate({**dict(record), name: less})
            except ValidationError:
                continue  # is no such record, as a bind that rebuilds nothing


def _lesser_tuples(
    name: str, values: tuple[object, ...], vocab_size: int
) -> Iterator[tuple[object, ...]]:
    """With all or a run of them least, which come first as equal ones go at once.

    Then with fewer, then with one less.
    """
    least = tuple(next(lesser(name, each, vocab_size), each) for each in values)
    for run in runs(len(values)):
        within = least[run.start : run.stop]
        yield values[: run.start] + within + values[run.stop :]
    if name not in _OF_FIXED_LENGTH:
        yield from (without_run(values, run) for run in runs(len(values)))
    for index, value in enumerate(values):
        for less in lesser(name, value, vocab_size):
            yield (*values[:index], less, *values[index + 1 :])


def size(name: str, value: object) -> int:
    """How large the value of a field is; 0 if there is none."""
    if value is None:
        return 0
    match value:
        case int():
            larger = abs(value)
        case float():
            odd = value != _PLAIN[name] if name in _PLAIN else size_of_power(value)
            larger = int(odd)
        case str() if value in FAULTS:
            larger = FAULTS.index(value)
        case tuple():
            larger = sum(size(name, each) for each in value)
        case Record():
            fields = type(value).model_fields.keys() - _NAMES
            larger = sum(size(each, getattr(value, each)) for each in fields)
        case _:
            larger = 0  # has no order
    return 1 + larger


def _lesser_ints(name: str, value: int, vocab_size: int) -> Iterator[int]:
    if name in _SEEDS:
        yield from range(min(value, _N_SEEDS))
    elif name in _TOKENS:
        yield from tokens(value, vocab_size)
    elif isinstance(value, bool):
        yield from (False,) * value
    else:
        yield from numbers(value)


def _exponent(number: float) -> int:
    """That of ten, towards 0."""
    return int(math.log10(abs(number))) if number else 0
