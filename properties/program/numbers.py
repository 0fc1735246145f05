"""Comparisons of numbers: with a replay's within a bound, or with a lone run's bits."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from properties.calls import Decode, Prefill
from properties.program.lone import Lone
from properties.program.snapshots import Path, Snapshots, picked
from properties.program.told import Told
from properties.program.values import NAN

Compared: TypeAlias = Callable[[Told, Path], None]


def _logits(told: Told, place: Path) -> None:
    """Numbers of a replay, and how far off each may be."""
    told.begin()
    told.call(f"came = {_at('{}.logits', place)}")
    told.check()


def _no_logits(told: Told, _place: Path) -> None:
    told.begin()
    told.call("output = {}")
    told.due(repr(told.moment.config.dtype))
    told.check('str(getattr(output.logits, "dtype", None))')


def _rows(told: Told, place: Path) -> None:
    told.begin()
    told.call()
    if len(place) == 1:
        rows = f"for rows in {told.cache}.layers for each in (rows.keys, rows.values)"
        told.due(f"{{{told.found.due!r}}}")
        told.check(f"{{each.dtype.name {rows}}}")
        return
    layer, name, *inner = place
    told.check(_at(f"{told.cache}.layers[{layer}].{name}", inner))


def _earlier_rows(told: Told, place: Path) -> None:
    layer, name, *number = place
    told.begin()
    rows = f"{told.cache}.layers[{layer}].{name}"
    told.due(picked(rows, number))
    told.call()
    told.check(picked(f"{rows}[:, :{told.moment.length_before}]", number))


def _weights(told: Told, place: Path) -> None:
    """What a step makes of a value by the reference, and how far off it may be."""
    decoder, name, *inner = place
    assert isinstance(decoder, int)
    told.begin()
    told.call()
    told.check(_at(f'{told.draft.calls.decoders[decoder]}.weights["{name}"]', inner))


def _moments(told: Told, place: Path) -> None:
    name, order, *inner = place
    told.begin()
    told.call()
    moments = "{each.name: each for each in optimizer.snapshot().moments}"
    told.draft.add(f"moments = {moments}")
    told.check(_at(f'moments["{name}"].arrays()[{order}]', inner))


def _undisturbed(told: Told, number: Path) -> None:
    told.begin()
    told.call(f"came = {picked('{}.logits', number)}")
    content = told.moment.content
    Lone(told).logits("due", content.history, content.n_prompt, number)
    told.check()


def _decode_on_a_copy(told: Told, number: Path) -> None:
    moment, history = told.moment, told.moment.content.history
    goes_on = len(moment.ahead) > len(history)
    token_id = moment.ahead[len(history)] if goes_on else 0
    told.begin()
    told.call()
    answer = f"copy({told.cache}).bind({told.decoder}).decode({token_id})"
    came = [f"came = {picked(f'{answer}.logits', number)}"]
    told.attempt("came", came, is_sure=bool(number))
    lone = Lone(told)
    lone.logits("due", (*history, token_id), moment.content.n_prompt, number)
    told.check()


def _split(told: Told, place: Path) -> None:
    """Two lone runs: one that is prefilled whole, and one that is not."""
    content, lone = told.moment.content, Lone(told)
    is_of_rows, *inner = place
    looks = lone.rows if is_of_rows else lone.logits
    for name, n_prompt in (("due", content.length), ("came", content.n_prompt)):
        looks(name, content.history, n_prompt, inner)
    told.check()


def _spare(told: Told, place: Path) -> None:
    """Two lone runs: one with zeros behind the prefix, and one with NaN."""
    what, index, *number = place
    n_prompt, ahead, lone = told.moment.content.n_prompt, told.moment.ahead, Lone(told)
    assert isinstance(index, int)
    for name, spare in (("due", ""), ("came", NAN)):
        if what == "rows":
            lone.rows(name, ahead, n_prompt, [index, *number], spare)
        else:
            lone.logits(name, ahead[: n_prompt + index], n_prompt, number, spare)
    told.check()


def _outputs(told: Told, place: Path) -> None:
    """An answer right when it came, and at the end of the run."""
    index, *number = place
    assert isinstance(index, int)
    made = told.failure.made
    answered = [
        at
        for at, seen in enumerate(made)
        if isinstance(seen.call, Prefill | Decode) and seen.outcome == "done"
    ]
    at = answered[index]
    told.begin([])
    told.draft.make_all(made[:at])
    told.draft.make(made[at], "output = {}")
    told.due(picked("output.logits", number))
    told.draft.make_all(made[at + 1 :])
    told.check(picked("output.logits", number))


def _written_outside(told: Told, path: Path) -> None:
    """What is handed out is written over: what fits the place, or everything."""
    told.begin(keeps=told.is_thorough)
    place = Snapshots(told.draft.calls, told.moment.model).place(path)
    told.due(place)
    cache = told.cache
    if path[0] == "caches" and isinstance(path[1], int):
        cache = told.draft.calls.caches[path[1]]
    rows = f"[x for each in {cache}.layers for x in (each.keys, each.values)]"
    values = f"[*{told.decoder}.weights.values(), {told.decoder}.parameters[0].value]"
    handed_out = rows if path[0] == "caches" else values
    if told.is_thorough:
        told.draft.add(f"rows = {rows}", f"values = {values}")
        handed_out = "rows + values + [each.logits for each in outputs]"
    told.draft.add(
        f"for array in {handed_out}:",
        "    while isinstance(array, np.ndarray):",
        "        with suppress(ValueError):",
        "            array.flags.writeable = True",
        "            array[...] = 7.0",
        "        array = array.base",
    )
    told.check(place)


def _at(array: str, place: Path) -> str:
    if tuple(place) == ("shape",):
        return f"{array}.shape"
    if tuple(place) == ("dtype",):
        return f"{array}.dtype.name"
    return f"float({array}[{', '.join(map(str, place))}])"


NUMBERS: Final[Mapping[str, Compared]] = {
    "decode on a copy": _decode_on_a_copy,
    "earlier rows": _earlier_rows,
    "logits": _logits,
    "moments": _moments,
    "no logits": _no_logits,
    "outputs": _outputs,
    "rows": _rows,
    "spare": _spare,
    "split": _split,
    "undisturbed": _undisturbed,
    "weights": _weights,
    "written outside": _written_outside,
}
"""By the first word of a difference's place."""
