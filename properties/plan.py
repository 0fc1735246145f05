"""Which of a script's faults is in force at a call, and whether it ends that call."""

from collections.abc import Sequence

from properties.calls import Call, Decode, Generate, Prefill
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
    from_then_on = latest.model_copy(update={"call": call, "point": 0})
    return from_then_on if latest.persists else None


def moved(fault: Fault, n_calls: int) -> Fault:
    """The same fault, so many calls later."""
    return fault.model_copy(update={"call": fault.call + n_calls})


def make_on(model: Model, call: Call, fault: Fault | None) -> bool:
    """Make a call on a model, and tell whether the fault has ended it.

    Then it has left everything as it was. What a computation may fail by itself is not
    known here, nor how many tokens a generation will choose: a fault beyond its prompt
    counts as none, and changes nothing either way.

    Raises:
        Exception: the refusal that is due; nothing changed.
    """
    match call:
        case Prefill() | Decode() if _strikes(fault, model, call):
            model.require(call)
            return True
        case Generate():
            model.perform(call)  # and nothing stays of it
            return _strikes(fault, model, call)
        case _:
            model.perform(call)
            return False


def _strikes(
    fault: Fault | None, model: Model, call: Prefill | Decode | Generate
) -> bool:
    """Whether the call has that point; every decoder of a model has one shape."""
    config = model.decoders[0].config
    return fault is not None and fault.point < n_points(config, call)
