"""Planned faults, in a few words."""

from properties.script import Fault


def fault(
    call: int, point: int, raises: str = "Exception", *, persists: bool = False
) -> Fault:
    return Fault.model_validate(
        {"call": call, "point": point, "raises": raises, "persists": persists}
    )
