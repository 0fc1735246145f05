"""The hunt: calls on a session, judged beside the reference; and the report."""

__all__ = ()
