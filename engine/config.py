"""``DecoderConfig``: the sizes and constants of a decoder, validated once."""

import math
import operator
from dataclasses import asdict, dataclass, fields
from functools import partial, wraps
from numbers import Real
from typing import TYPE_CHECKING, Final, Never, TypeVar, get_args

import numpy as np

from engine.arrays import DType, Float
from engine.errors import InvalidConfig

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R")

MAX_STORAGE_BYTES: Final = 2**63 - 1
_MAX_BITS: Final = 2048


def exact_int(field: str, value: object, minimum: int) -> int:
    """The integer that ``value`` is; ``bool`` is none.

    Raises:
        InvalidConfig: it is no integer, below ``minimum``, or longer than Python is
            sure to print.
    """
    try:
        if isinstance(value, bool):
            raise TypeError  # noqa: TRY301 # one message for all that is no integer
        number = operator.index(value)  # type: ignore[arg-type] # asked at run time
    except TypeError:
        raise InvalidConfig(field, value, "must be an integer") from None
    if number.bit_length() > _MAX_BITS:
        raise InvalidConfig(field, value, f"must have at most {_MAX_BITS} bits")
    if number < minimum:
        raise InvalidConfig(field, value, f"must be at least {minimum}")
    return number


def rebuilt(record: "DataclassInstance") -> tuple[object, ...]:
    """How to copy or unpickle a record: by its constructor, which judges it."""
    return partial(type(record), **asdict(record)), ()


def refused_state(record: object, _state: object) -> Never:
    """What a record says to a state that is set from outside."""
    message = f"a {type(record).__name__} never changes"
    raise TypeError(message)


def once(record: type[R]) -> type[R]:
    """Let each instance of a record be constructed, and never again."""
    construct = vars(record)["__init__"]
    first = next(iter(vars(record)["__dataclass_fields__"]))

    @wraps(construct)
    def construct_once(instance: R, *args: object, **given: object) -> None:
        if hasattr(instance, first):
            refused_state(instance, given)
        construct(instance, *args, **given)

    type.__setattr__(record, "__init__", construct_once)
    return record


def exact_float(value: object) -> float:
    """The float that ``value`` is, NaN for anything that is no finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


@once
@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig:
    """Sizes and constants of one decoder; every instance is valid.

    ``vocab_size`` tokens, ``d_model`` features in a row, ``n_heads`` query heads of
    even width ``head_dim`` that share ``n_kv_heads`` key/value heads, ``d_ff`` features
    in the feed-forward network, ``n_layers`` blocks (0 is allowed) and ``capacity``
    positions. ``rope_base`` sets the rotary frequencies, ``rms_epsilon`` is added to
    the mean square of a row that is normalized. ``dtype`` is that of every parameter,
    row and value.

    Raises:
        InvalidConfig: a field is out of its domain; nothing was made.
    """

    vocab_size: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_ff: int
    n_layers: int
    capacity: int
    rope_base: float
    rms_epsilon: float
    dtype: DType = "float64"

    __reduce__ = rebuilt
    __setstate__ = refused_state

    def __post_init__(self) -> None:
        for field in fields(self):
            self._normalize(field.name)
        self._require_divisible()
        position_bytes = 2 * self.kv_width * np.dtype(self.dtype).itemsize
        storage = self.n_layers * self.capacity * position_bytes
        if storage > MAX_STORAGE_BYTES:
            reason = f"the cache would need {storage} bytes, at most 2^63 - 1 fit"
            raise InvalidConfig("capacity", self.capacity, reason)

    @property
    def head_dim(self) -> int:
        """Features of one head."""
        return self.d_model // self.n_heads

    @property
    def kv_width(self) -> int:
        """Features of all key (or value) heads of one position."""
        return self.n_kv_heads * self.head_dim

    @property
    def group_size(self) -> int:
        """Query heads that read one key/value head."""
        return self.n_heads // self.n_kv_heads

    @property
    def float_type(self) -> type[Float]:
        """What makes a number of the dtype."""
        return np.float64 if self.dtype == "float64" else np.float32

    def _normalize(self, field: str) -> None:
        """Keep plain values only, so that equal is identical."""
        given = getattr(self, field)
        if field == "dtype":
            if type(given) is not str or given not in get_args(DType):
                reason = "must be 'float64' or 'float32'"
                raise InvalidConfig(field, given, reason)
            return
        if field not in {"rope_base", "rms_epsilon"}:
            minimum = 0 if field == "n_layers" else 1
            object.__setattr__(self, field, exact_int(field, given, minimum))
            return
        number = exact_float(given)
        if not math.isfinite(number):
            raise InvalidConfig(field, given, "must be a finite real number")
        if number < 0 or (field == "rope_base" and number == 0):
            limit = "> 0" if field == "rope_base" else ">= 0"
            raise InvalidConfig(field, given, f"must be {limit}")
        object.__setattr__(self, field, number)

    def _require_divisible(self) -> None:
        if self.d_model % self.n_heads:
            reason = f"must divide d_model={self.d_model}"
            raise InvalidConfig("n_heads", self.n_heads, reason)
        if self.head_dim % 2:
            reason = f"leaves an odd head width of {self.head_dim}"
            raise InvalidConfig("n_heads", self.n_heads, reason)
        if self.n_heads % self.n_kv_heads:
            reason = f"must divide n_heads={self.n_heads}"
            raise InvalidConfig("n_kv_heads", self.n_kv_heads, reason)
