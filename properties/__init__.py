"""The hunt: scripts of calls, judged on an engine beside the reference."""

__all__ = ()
