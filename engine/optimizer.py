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
            gradients: one a parameter, of its shape

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
    """One float64 array a parameter, of its shape and finite."""
    if len(gradients) != len(names):
        index = min(len(gradients), len(names))
        reason = f"there are {len(names)} parameters and {len(gradients)} gradients"
        raise GradientMismatch(index, "".join(names[index : index + 1]), reason)
    shapes = {moment.name: moment.shape for moment in state.moments}
    exact: list[Array] = []
    for index, (name, value) in enumerate(zip(names, held, strict=True)):
        gradient = silently(_exact, gradients[index], value.shape)
        reason = _misfit(value, shapes.get(name, value.shape), gradient)
        if reason:
            raise GradientMismatch(index, name, reason)
        exact.append(gradient)
    return exact


def _exact(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Numbers as float64; what does not fit as it is, or as an array of one object."""
    array = array_of(gradient)
    if array is None:
        return np.array(None)
    # An array may take no memory but for its copy, so what has no use is not copied.
    is_number = array.dtype.kind in "fiu" and array.shape == shape
    return array.astype(np.float64) if is_number else array


def _misfit(value: Held, moment_shape: tuple[int, ...], gradient: Array) -> str:
    """Why a gradient does not fit its parameter; empty if it does."""
    if np.dtype(value.dtype) != np.float64:
        return f"the parameter has the dtype {np.dtype(value.dtype)}, not float64"
    if value.shape != moment_shape:
        return f"the parameter has the shape {value.shape}, its moments {moment_shape}"
    if gradient.dtype.kind not in "fiu":
        return f"has the dtype {gradient.dtype}, not float64"
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
        moment = known.get(name) or Moment.zero(name, value.shape)
        new = silently(adamw_update, config, powers, weight, moment.arrays(), gradient)
        if not np.isfinite(new).all():
            raise NonFiniteUpdate(index, name)
        weight, first, second = new
        replaced.append(Held.copy_of(weight, value.revision + 1))
        moments.append(Moment(name, value.shape, first.tobytes(), second.tobytes()))
    after = AdamWSnapshot(
        config=config,
        step=state.step + 1,
        beta1_power=powers[0],
        beta2_power=powers[1],
        moments=tuple(moments),
    )
    return replaced, after
