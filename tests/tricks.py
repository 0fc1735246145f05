"""Every trick by which Python and NumPy let a caller write where it should not."""

import copy
import pickle
from contextlib import suppress
from typing import Final

import numpy as np

from engine.arrays import Array

REFUSALS: Final = (ValueError, TypeError, AttributeError, BufferError, RuntimeError)


def set_elements(array: Array) -> None:
    array[...] = 9.0


def make_writeable(array: Array) -> None:
    array.flags.writeable = True
    array[...] = 9.0


def make_writeable_by_setflags(array: Array) -> None:
    array.setflags(write=True)
    array[...] = 9.0


def write_through_every_base(array: Array) -> None:
    base = array.base
    while isinstance(base, np.ndarray):
        with suppress(*REFUSALS):
            base.flags.writeable = True
            base[...] = 9.0
        base = base.base
    with suppress(*REFUSALS):
        memoryview(base)[:] = bytes(array.nbytes)  # type: ignore[arg-type] # bytes or refused


def write_through_memoryview(array: Array) -> None:
    memoryview(array).cast("B")[0] = 9  # type: ignore[arg-type] # its stub has a buffer from 3.12 on


def write_through_data(array: Array) -> None:
    array.data.cast("B")[0] = 9


def write_through_a_view(array: Array) -> None:
    view = array.view(np.uint8)
    view.flags.writeable = True
    view[...] = 9


def write_through_strides(array: Array) -> None:
    window = np.lib.stride_tricks.as_strided(array, writeable=True)
    window[...] = 9.0


def write_through_dlpack(array: Array) -> None:
    shared = np.from_dlpack(array)
    shared.flags.writeable = True
    shared[...] = 9.0


def write_through_the_buffer(array: Array) -> None:
    shared = np.frombuffer(array, dtype=np.uint8)
    shared.flags.writeable = True
    shared[...] = 9


def write_by_ufunc(array: Array) -> None:
    np.add(array, 1.0, out=array)


def write_by_copyto(array: Array) -> None:
    np.copyto(array, 9.0)


def fill(array: Array) -> None:
    array.fill(9.0)


def swap_bytes(array: Array) -> None:
    array.byteswap(inplace=True)


def sort_in_place(array: Array) -> None:
    array[...].T.sort()


def change_the_shape(array: Array) -> None:
    array.shape = (array.size,)


def change_the_dtype(array: Array) -> None:
    array.dtype = np.int64  # type: ignore[misc, assignment] # numpy still allows it


def change_the_strides(array: Array) -> None:
    array.strides = (0,) * array.ndim


def resize(array: Array) -> None:
    array.resize((1,), refcheck=False)


def set_the_state(array: Array) -> None:
    state = (1, (1,), np.dtype(np.float64), False, np.float64(9.0).tobytes())
    array.__setstate__(state)  # type: ignore[arg-type] # its stub asks for a numpy bool


def change_a_copy(array: Array) -> None:
    for another in (copy.copy(array), copy.deepcopy(array)):
        another[...] = 9.0
    pickle.loads(pickle.dumps(array))[...] = 9.0


TRICKS: Final = (
    set_elements,
    make_writeable,
    make_writeable_by_setflags,
    write_through_every_base,
    write_through_memoryview,
    write_through_data,
    write_through_a_view,
    write_through_strides,
    write_through_dlpack,
    write_through_the_buffer,
    write_by_ufunc,
    write_by_copyto,
    fill,
    swap_bytes,
    sort_in_place,
    change_the_shape,
    change_the_dtype,
    change_the_strides,
    resize,
    set_the_state,
    change_a_copy,
)
