"""What a cache's rows were computed from, and whether a decoder still is that."""

from dataclasses import fields
from typing import NamedTuple, Self

from engine.config import DecoderConfig
from engine.decoder import Decoder
from engine.errors import ConfigMismatch, ParameterMismatch, ParameterRevisionMismatch
from engine.parameters import Parameter, held_by


class Evidence(NamedTuple):
    """A configuration, and the identity and revision of every parameter.

    No weight is copied, nothing is borrowed.
    """

    config: DecoderConfig
    parameters: tuple[Parameter, ...]
    revisions: tuple[int, ...]

    @classmethod
    def of(cls, decoder: Decoder) -> Self:
        """A decoder as it is at this moment."""
        parameters = decoder.parameters
        revisions = tuple(held.revision for held in held_by(parameters))
        return cls(decoder.config, parameters, revisions)

    def require_same(self, decoder: Decoder) -> None:
        """Refuse a decoder of another configuration or of other parameters.

        Raises:
            ConfigMismatch: the first field that differs, floats by their bits.
            ParameterMismatch: the first parameter that is another object.
        """
        for field in fields(self.config):
            cached = getattr(self.config, field.name)
            given = getattr(decoder.config, field.name)
            if repr(cached) != repr(given):  # alike exactly if the bits are
                raise ConfigMismatch(field.name, cached, given)
        pairs = zip(self.parameters, decoder.parameters, strict=True)
        for index, (parameter, given) in enumerate(pairs):
            if parameter is not given:
                raise ParameterMismatch(index, parameter.name)

    def require_current(self) -> None:
        """Refuse parameters that were replaced since.

        Raises:
            ParameterRevisionMismatch: the first one that was.
        """
        for index, parameter in enumerate(self.parameters):
            cached, current = self.revisions[index], parameter.revision
            if cached != current:
                raise ParameterRevisionMismatch(index, parameter.name, cached, current)
