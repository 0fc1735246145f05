"""Comparisons of all that is no number of a replay: what is told and kept."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from engine import Generation, GenerationStep, Work
from properties.program.lines import said
from properties.program.numbers import Compared
from properties.program.snapshots import Path, Snapshots, picked
from properties.program.told import Told


def _engine(told: Told, path: Path) -> None:
    """Before the call and after it; counts are due as they are."""
    told.begin()
    place = _place(told, path)
    if type(told.found.due) is not int:
        told.due(place)
    told.call()
    told.check(place)


def _place(told: Told, path: Path) -> str:
    return Snapshots(told.draft.calls, told.moment.model).place(path)


def _storage(told: Told, _path: Path) -> None:
    told.begin()
    told.due(f"{told.cache}.storage_ids")
    told.call()
    told.check(f"{told.cache}.storage_ids")


def _nans(told: Told, _path: Path) -> None:
    """The judge has put them there, and so does the program in any wording."""
    told.draft.fouls = True
    told.begin()
    bits = f"np.frombuffer({told.cache}.snapshot().bits, config.dtype)"
    told.check(f"int(np.isnan({bits}).sum())")


def _copy(told: Told, path: Path) -> None:
    told.begin()
    told.call()
    last = len(told.draft.calls.caches) - 1
    told.due(_place(told, ["caches", told.moment.cache, *path]))
    told.check(_place(told, ["caches", last, *path]))


def _shared(told: Told, _path: Path) -> None:
    told.begin()
    told.call()
    names = told.cache, told.draft.calls.caches[-1]
    ids = [f"{{*sum({name}.storage_ids, ())}}" for name in names]
    told.due("set()")
    told.check(" & ".join(ids))


def _loaded(told: Told, path: Path) -> None:
    told.begin()
    told.call()
    decoders = told.draft.calls.decoders
    call = told.moment.call
    source: int = getattr(call, "decoder", 0)
    for name, decoder in (("due", decoders[source]), ("came", decoders[-1])):
        match path:
            case [index, 0]:
                read = f"{decoder}.parameters[{index}].name"
            case [index, 1, *number]:
                read = picked(f"{decoder}.parameters[{index}].value", number)
            case _:
                read = f"len({decoder}.parameters)"
        told.draft.add(f"{name} = {read}")
    told.know_due()
    told.check()


def _steps(told: Told, path: Path) -> None:
    told.begin()
    if path[0] == 0:
        told.call("came = {}")
        told.check()
    else:
        told.call()
        told.check(_place(told, ["parameters", *path]))


def _work(told: Told, path: Path) -> None:
    """The first counter that is another."""
    (index,) = path
    assert isinstance(index, int)
    due, came = told.found.due, told.found.came
    assert isinstance(due, Work)
    assert isinstance(came, tuple)
    name = next(
        name for name, a, b in zip(due._fields, due, came, strict=True) if a != b
    )
    told.begin()
    told.call()
    told.due(repr(getattr(due, name)))
    told.check(f"{told.draft.calls.caches[index]}.work.{name}")


def _scores(told: Told, path: Path) -> None:
    if path[0] != "of the newest row":
        told.refuse("the replay is wrong, and not the engine")
    told.begin()
    told.call("came = {}.attention_scores")
    told.check()


def _growth(told: Told, _path: Path) -> None:
    """Of the sequence that ends here; each row forms so many more than the last."""
    told.begin(keeps=True)
    told.call("outputs.append({})")
    n_answers = len(told.moment.scores)
    told.draft.add(
        f"outputs = outputs[-{n_answers}:]",
        "seen = [(each.attention_scores, each.length) for each in outputs]",
        "came = {(b[0] - a[0]) / (b[1] - a[1]) for a, b in zip(seen, seen[1:])}",
    )
    told.due(said(told.found.due))
    told.check(condition="len(came) == 1")


def _length(told: Told, path: Path) -> None:
    told.begin()
    told.call()
    told.check(f"{told.cache}.layers[{path[0]}].length")


def _answer(told: Told, _path: Path) -> None:
    told.begin()
    told.call("output = {}")
    told.check("output.position, output.length")


def _choices(told: Told, path: Path) -> None:
    """A token or its draw; or an edge of its interval, which rounding may move."""
    (index,) = path
    assert isinstance(index, int)
    assert isinstance(told.found.due, tuple)
    (due,) = told.found.due
    assert isinstance(told.found.came, tuple)
    came = told.found.came[0] if told.found.came else None
    assert isinstance(due, GenerationStep)
    told.begin()
    told.call("steps = {}.steps")
    for name in ("prefix_length", "token_id", "unit_draw"):
        if getattr(came, name, None) != getattr(due, name):
            told.due(repr([getattr(due, name)]))
            told.check(f"[each.{name} for each in steps[{index}:{index + 1}]]")
            return
    assert told.moment.generation is not None
    bound = told.moment.generation.interval_bound
    edges = "interval_start", "interval_end"
    edge = next(e for e in edges if abs(getattr(came, e) - getattr(due, e)) > bound)
    told.due(repr(getattr(due, edge)))
    told.check(f"steps[{index}].{edge}", f"abs(came - due) <= {bound!r}")


def _generation(told: Told, _path: Path) -> None:
    """All of it but the choices, of which it is enough to count them."""
    due, came = told.found.due, told.found.came
    assert isinstance(due, Generation)
    assert isinstance(came, Generation)
    told.begin()
    told.call("generation = {}")
    seen = zip(_told_of(due), _told_of(came), strict=True)
    (place, one), _ = next((a, b) for a, b in seen if a != b)
    told.due(said(one))
    told.check(place)


def _told_of(generation: Generation) -> list[tuple[str, object]]:
    start = "generation"
    return [
        *((f"{start}.{n}", getattr(generation, n)) for n in ("prompt", "generated")),
        (f"len({start}.steps)", len(generation.steps)),
        *((f"{start}.{n}", getattr(generation, n)) for n in ("stop", "final_length")),
        *((f"{start}.work.{n}", value) for n, value in asdict(generation.work).items()),
    ]


def _generator(told: Told, _path: Path) -> None:
    told.begin()
    told.call()
    told.check("rng.state")


FACTS: Final[Mapping[str, Compared]] = {
    "NaNs": _nans,
    "answer": _answer,
    "choices": _choices,
    "copy": _copy,
    "engine": _engine,
    "generation": _generation,
    "generator": _generator,
    "growth": _growth,
    "length": _length,
    "loaded": _loaded,
    "scores": _scores,
    "shared": _shared,
    "steps": _steps,
    "storage": _storage,
    "work": _work,
}
"""By the first word of a difference's place."""
