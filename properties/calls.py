"""The calls of a script, as data.

A run begins with one decoder, one cache and one session that is bound to them. Decoders
and caches are named by the order in which they came to be: each ``NewDecoder`` and each
``Restore`` makes the next decoder, each ``NewCache`` and each ``Copy`` the next cache.
A call on a cache goes to its newest session, or to the one opened ``age`` sessions
before that.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    model_serializer,
)

from engine.arrays import DType

Index: TypeAlias = Annotated[int, Field(ge=0)]
Word: TypeAlias = Annotated[int, Field(ge=0, lt=2**64)]
Counts: TypeAlias = tuple[Word, Word, Word, Word, Word, Word]
Token: TypeAlias = Annotated[int, Field(ge=-(2**1024), le=2**1024)] | StrictBool
"""An integer, in the vocabulary or not; ``True`` and ``False`` are none."""

NotFinite: TypeAlias = Literal["inf", "-inf", "nan"]


class Record(BaseModel):
    """Frozen, read strictly, shown without the fields that have their default."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False
    )

    def __repr_args__(self) -> Sequence[tuple[str | None, object]]:
        defaults = {
            name: each.default for name, each in type(self).model_fields.items()
        }
        return [
            (name, getattr(self, name))
            for name in defaults
            if getattr(self, name) != defaults[name]
        ]


class _Call(Record):
    call: str  # the tag, which is always written

    @model_serializer(mode="wrap")
    def _with_its_name(
        self, fields: SerializerFunctionWrapHandler
    ) -> dict[str, object]:
        return {"call": self.call, **fields(self)}


class Changes(Record):
    """Fields of a configuration that are another's; ``None`` where they are equal."""

    vocab_size: int | None = None
    d_model: int | None = None
    n_heads: int | None = None
    n_kv_heads: int | None = None
    d_ff: int | None = None
    n_layers: int | None = None
    capacity: int | None = None
    rope_base: float | None = None
    rms_epsilon: float | None = None
    dtype: DType | None = None


class Flaw(Record):
    """What is wrong with a step's gradient (or parameter) at an index."""

    kind: Literal[
        "missing", "surplus", "shape", "nan", "overflow", "duplicate", "subset"
    ]
    index: Index = 0


class Sampling(Record):
    """A draw from the ``k`` highest logits."""

    temperature: float | NotFinite
    k: int


class NewDecoder(_Call):
    """A decoder of another's parameter objects, some of them rebuilt by value."""

    call: Literal["new decoder"] = "new decoder"
    decoder: Index = 0
    rebuilt: tuple[Index, ...] = ()


class Restore(_Call):
    """What was saved of a decoder, the optimizer and the generator, loaded again.

    The decoder that comes of it is the next one, of parameter objects of its own; the
    other two go on from what was loaded.
    """

    call: Literal["restore"] = "restore"
    decoder: Index = 0


class NewCache(_Call):
    """A cache for a decoder, with counters to go on from."""

    call: Literal["new cache"] = "new cache"
    decoder: Index = 0
    work: Counts = (0, 0, 0, 0, 0, 0)


class Copy(_Call):
    """A copy of a cache."""

    call: Literal["copy"] = "copy"
    cache: Index = 0


class Bind(_Call):
    """A session of a cache and a decoder."""

    call: Literal["bind"] = "bind"
    cache: Index = 0
    decoder: Index = 0


class BindRebuilt(_Call):
    """A session with a twin of a decoder, some of whose parameters are new objects."""

    call: Literal["bind rebuilt"] = "bind rebuilt"
    cache: Index = 0
    decoder: Index = 0
    rebuilt: Annotated[tuple[Index, ...], Field(min_length=1)]


class BindChanged(_Call):
    """A session with a decoder of another configuration.

    It has the same parameter objects where they fit that configuration, else new ones.
    """

    call: Literal["bind changed"] = "bind changed"
    cache: Index = 0
    decoder: Index = 0
    changes: Changes


class _OnSession(_Call):
    cache: Index = 0
    age: Index = 0


class Prefill(_OnSession):
    """Fill from a prompt."""

    call: Literal["prefill"] = "prefill"
    prompt: tuple[Token, ...]


class Decode(_OnSession):
    """Extend by one token."""

    call: Literal["decode"] = "decode"
    token_id: Token


class Reset(_OnSession):
    """Forget the sequence."""

    call: Literal["reset"] = "reset"


class Close(_OnSession):
    """Give back what the session borrowed."""

    call: Literal["close"] = "close"


class Step(_Call):
    """An optimizer step on gradients drawn by seed, uniform in ± ``scale``."""

    call: Literal["step"] = "step"
    decoder: Index = 0
    seed: Word = 0
    scale: float = 1.0
    flaw: Flaw | None = None


class Train(_Call):
    """A loss with its gradients, and an optimizer step on them."""

    call: Literal["train"] = "train"
    decoder: Index = 0
    tokens: tuple[Token, ...]
    targets: tuple[Token, ...]


class Generate(_Call):
    """A generation; greedy if ``sampling`` is ``None``."""

    call: Literal["generate"] = "generate"
    decoder: Index = 0
    prompt: tuple[Token, ...]
    sampling: Sampling | None = None
    eos_token: Token | None = None
    max_new_tokens: Token = 2  # neither True nor False equals it, so both are written
    rng_state: Word = 0


Call: TypeAlias = (
    NewDecoder
    | Restore
    | NewCache
    | Copy
    | Bind
    | BindRebuilt
    | BindChanged
    | Prefill
    | Decode
    | Reset
    | Close
    | Step
    | Train
    | Generate
)
