"""Lists in lists are read as deep as an array can be, and no deeper."""

from typing import Final

from engine.arrays import Numbers, array_of

DEEPEST: Final = 64


def nested(n_axes: int) -> Numbers:
    value: Numbers = [1.0]
    for _ in range(n_axes - 1):
        value = [value]  # type: ignore[assignment] # deeper than its type
    return value


def test_deepest_lists_are_an_array() -> None:
    array = array_of(nested(DEEPEST))

    assert array is not None
    assert array.shape == DEEPEST * (1,)


def test_deeper_lists_are_none() -> None:
    assert array_of(nested(DEEPEST + 1)) is None


def test_list_that_holds_itself_is_none() -> None:
    endless: list[object] = []
    endless.append(endless)

    assert array_of(endless) is None  # type: ignore[arg-type] # what no type can forbid
