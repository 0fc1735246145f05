"""What kind of object a caller gave, whatever the object says of itself."""


def require_kind(value: object, *kinds: type[object]) -> None:
    """Refuse what is made of another class: ``isinstance`` would believe ``__class__``.

    Raises:
        TypeError: it is no such object.
    """
    if not issubclass(type(value), kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        message = f"this takes a {names}, not a {type(value).__name__}"
        raise TypeError(message)
