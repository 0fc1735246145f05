"""``little_memory``: what asks for too much is refused, and takes nobody else's."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_MOST: Final = 8 * 2**30  # addresses, of which a process reserves more than it uses


@contextmanager
def little_memory() -> Iterator[None]:
    """Limit this process, so that an engine without bounds ends as a MemoryError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [each for each in (soft, hard, _MOST) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
