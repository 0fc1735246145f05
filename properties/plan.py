"""Which of a script's faults is in force at a call, and whether it ends that call."""

from collections.abc import Sequence

from properties.calls import Call, Decode, Prefill
from properties.model import Model
from properties.points import n_points
from properties.script import Fault


def in_force(faults: Sequence[Fault], call: int) -> Fault | None:
    """The fault of a call: its own, or one that persists until another comes.

    Args:
        faults: in the order of their calls, one a call
        call: by its number
    """
    latest = next((each for each in reversed(faults) if each.call <= call), None)
    if latest is None or latest.call == call:
        return latest
    return (
        latest.model_copy(update={"call": call, "point": 0})
        if latest.persists
        else None
    )


def make_on(model: Model, call: Call, fault: Fault | None) -> bool:
    """Make a call on a model, and tell whether the fault has ended it.

    Then it has left everything as it was. What a computation may fail by itself is not
    known here.

    Raises:
        Exception: the refusal that is due; nothing changed.
    """
    match call:
        case Prefill() | Decode() if fault and fault.point < n_points(model, call):
            model.require(call)
            return True
        case _:
            model.perform(call)
            return False
