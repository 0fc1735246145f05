"""``AdamW``: one step is one transaction over values, revisions and moments."""

import sys
from collections.abc import Iterable
from itertools import islice
from typing import Self

import numpy as np

from engine.adamw import AdamWConfig, AdamWSnapshot, Moment, adamw_update
from engine.arrays import Array, array_of
from engine.errors import (
    DuplicateParameter,
    GradientMismatch,
    NonFiniteUpdate,
    ParameterBorrowed,
    ParameterSetChanged,
)
from engine.floating import silently
from engine.kinds import require_kind
from engine.occupants import Occupants, run_inside
from engine.parameters import Held, Parameter, held_by, store_together
from engine.tokens import first_of


class AdamW:
    """Adam with decoupled weight decay.

    Raises:
        TypeError: what should be a configuration is none; nothing was made.

    Source:
        Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2.
    """

    __slots__ = ("_state", "_steps")

    def __init__(self, config: AdamWConfig) -> None:
        require_kind(config, AdamWConfig)
        self._state = AdamWSnapshot(
            config=config, step=0, beta1_power=1.0, beta2_power=1.0, moments=()
        )
        self._steps = Occupants()

    @classmethod
    def restored(cls, snapshot: AdamWSnapshot) -> Self:
        """An optimizer that goes on where the snapshot was taken."""
        optimizer = cls(snapshot.config)
        optimizer._state = snapshot
        return optimizer

    def __reduce__(self) -> tuple[object, ...]:
        return AdamW.restored, (self._state,)

    @property
    def config(self) -> AdamWConfig:
        """The constants."""
        return self._state.config

    def snapshot(self) -> AdamWSnapshot:
        """Constants, step count and every moment, to the bit."""
        return self._state

    def step(self, parameters: Iterable[Parameter], gradients: Iterable[Array]) -> int:
        """Replace every parameter, or none.

        Args:
            parameters: the same names at every step
            gradients: one a parameter, of its shape; an array whose dtype converts to
                the parameter's without loss, or Python's numbers

        Returns:
            The number of steps taken.

        Raises:
            OptimizerError: refused; no value, revision, moment or count changed.
            TypeError: what should be a parameter is none; nothing changed.
        """
        chosen = _deciding(parameters, self._state)
        places = [self._steps, *(parameter._steps for parameter in chosen)]
        given = first_of(gradients, len(chosen) + 1)
        return run_inside(places, self._step, chosen, given)

    def _step(
        self, parameters: tuple[Parameter, ...], gradients: tuple[Array, ...]
    ) -> int:
        state = self._state
        names = tuple(parameter.name for parameter in parameters)
        _require_names(state, names)
        held = held_by(parameters)
        exact = _exact_gradients(state, names, held, gradients)
        replaced, after = _updated(state, names, held, exact)
        changed = self._state is not state or self._steps.count() > 1
        borrowed = [
            parameter.name
            for parameter, value in zip(parameters, held, strict=True)
            if changed or _is_borrowed(parameter, value)
        ]
        if borrowed or changed:
            raise ParameterBorrowed(borrowed[0] if borrowed else "")
        attributes = ["_held"] * len(names)
        store_together([*parameters, self], [*attributes, "_state"], [*replaced, after])
        return after.step


def _deciding(
    parameters: Iterable[Parameter], state: AdamWSnapshot
) -> tuple[Parameter, ...]:
    """All of them, or as many as make clear that they are refused for their names.

    A list or tuple has an end, so there the order of the checks is kept to the letter.
    Before the first step any number of names is right, so new parameters without an
    end would be read for as long as there is memory.
    """
    has_end = type(parameters) in {list, tuple}
    most = len(state.moments) + 1 if state.step and not has_end else sys.maxsize
    chosen: dict[str, Parameter] = {}
    for parameter in islice(parameters, most):
        require_kind(parameter, Parameter)
        if parameter.name in chosen:
            return (*chosen.values(), parameter)
        chosen[parameter.name] = parameter
    return tuple(chosen.values())


def _is_borrowed(parameter: Parameter, held: Held) -> bool:
    """Whether a session reads it, or another step is at work on it or has been."""
    others = parameter._steps.count() > 1 or parameter._held is not held
    return others or bool(parameter._readers)


def _require_names(state: AdamWSnapshot, names: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DuplicateParameter(name)
        seen.add(name)
    expected = tuple(moment.name for moment in state.moments)
    if state.step and seen != set(expected):
        raise ParameterSetChanged(expected, names)


def _exact_gradients(
    state: AdamWSnapshot,
    names: tuple[str, ...],
    held: tuple[Held, ...],
    gradients: tuple[Array, ...],
) -> list[Array]:
    """One array a parameter, of its shape and dtype, and finite."""
    if len(gradients) != len(names):
        index = min(len(gradients), len(names))
        reason = f"there are {len(names)} parameters and {len(gradients)} gradients"
        raise GradientMismatch(index, "".join(names[index : index + 1]), reason)
    known = {moment.name: moment for moment in state.moments}
    exact: list[Array] = []
    for index, (name, value) in enumerate(zip(names, held, strict=True)):
        gradient = silently(_exact, gradients[index], value)
        reason = _misfit(value, known.get(name), gradient)
        if reason:
            raise GradientMismatch(index, name, reason)
        exact.append(gradient)
    return exact


def _exact(gradient: Array, value: Held) -> Array:
    """Numbers as the dtype has them; what does not fit as it is, or as an object."""
    array = array_of(gradient)
    if array is None:
        return np.array(None)
    # Python's numbers have no dtype of their own that could be narrowed.
    if type(gradient) in {float, int, list, tuple} and array.dtype.kind in "fiu":
        return array.astype(value.dtype)
    # An array may take no memory but for its copy, so what has no use is not copied.
    fits = array.shape == value.shape and _widens(array, value)
    return array.astype(value.dtype) if fits else array


def _widens(gradient: Array, value: Held) -> bool:
    """Whether a gradient's numbers are numbers of the parameter's dtype too."""
    return gradient.dtype.kind in "fiu" and np.can_cast(gradient.dtype, value.dtype)


def _misfit(value: Held, moment: Moment | None, gradient: Array) -> str:
    """Why a gradient or its parameter does not fit; empty if both do."""
    return _misfit_parameter(value, moment) or _misfit_gradient(value, gradient)


def _misfit_parameter(value: Held, moment: Moment | None) -> str:
    dtype = np.dtype(value.dtype)
    if dtype not in (np.float64, np.float32):
        return f"the parameter has the dtype {dtype}, not float64 or float32"
    if moment and value.shape != moment.shape:
        return f"the parameter has the shape {value.shape}, its moments {moment.shape}"
    if moment and dtype != moment.dtype:
        return f"the parameter has the dtype {dtype}, its moments {moment.dtype}"
    return ""


def _misfit_gradient(value: Held, gradient: Array) -> str:
    if not _widens(gradient, value):
        return f"has the dtype {gradient.dtype}, not {np.dtype(value.dtype)}"
    if gradient.shape != value.shape:
        return f"has the shape {gradient.shape}, the parameter {value.shape}"
    if not np.isfinite(gradient).all():
        return "has a value that is not finite"
    return ""


def _updated(
    state: AdamWSnapshot,
    names: tuple[str, ...],
    held: tuple[Held, ...],
    gradients: list[Array],
) -> tuple[list[Held], AdamWSnapshot]:
    """Every new value, and the state after the step: computed apart and judged."""
    config = state.config
    powers = (state.beta1_power * config.beta1, state.beta2_power * config.beta2)
    known = {moment.name: moment for moment in state.moments}
    replaced: list[Held] = []
    moments: list[Moment] = []
    for index, (name, value, gradient) in enumerate(
        zip(names, held, gradients, strict=True)
    ):
        weight = value.array()
        dtype = weight.dtype.name
        moment = known.get(name) or Moment.zero(name, value.shape, dtype)
        new = silently(adamw_update, config, powers, weight, moment.arrays(), gradient)
        if not np.isfinite(new).all():
            raise NonFiniteUpdate(index, name)
        weight, first, second = new
        replaced.append(Held.copy_of(weight, value.revision + 1))
        bits = first.tobytes(), second.tobytes()
        moments.append(Moment(name, value.shape, *bits, dtype))
    after = AdamWSnapshot(
        config=config,
        step=state.step + 1,
        beta1_power=powers[0],
        beta2_power=powers[1],
        moments=tuple(moments),
    )
    return replaced, after
