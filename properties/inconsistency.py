"""``Inconsistent``: an engine that left what no session may leave."""

from properties.difference import unlike


class Inconsistent(AssertionError):
    """A sweep has found a broken promise, or has not reached what it looks for."""


def require_alike(where: str, due: object, came: object) -> None:
    """Refuse what is not alike to the bit.

    Raises:
        Inconsistent: with the first place that differs, and both values.
    """
    found = unlike(where, due, came)
    if found is not None:
        raise Inconsistent(str(found))
