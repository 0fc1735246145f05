"""The reference: the same decoder without a cache, in arithmetic of its own."""

from reference.generation import generate_by_replay
from reference.replay import Replay, replay

__all__ = ["Replay", "generate_by_replay", "replay"]
