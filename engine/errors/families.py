"""The families of errors: each is a promise about the state that was left."""


class EngineError(Exception):
    """Base of every error that this project raises on purpose."""


class RequestError(EngineError):
    """The call was refused; nothing changed."""


class BindingError(EngineError):
    """This cache does not belong to this decoder; nothing changed."""


class OptimizerError(EngineError):
    """The step was refused; no value, revision, moment or count changed."""


class ConstructionError(EngineError, ValueError):
    """What was given or read is no valid object; nothing was made."""
