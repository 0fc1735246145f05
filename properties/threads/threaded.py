"""All hunts with threads, and what they have met."""

from collections import Counter
from dataclasses import dataclass, fields
from time import perf_counter

from rich.box import SIMPLE_HEAD
from rich.table import Table

from properties.threads.calling_back import hunt_calls_back
from properties.threads.one_cache import hunt_binds_of_one_cache, hunt_copies
from properties.threads.one_decoder import hunt_on_one_decoder
from properties.threads.one_session import hunt_in_one_session


@dataclass(frozen=True, slots=True, kw_only=True)
class Threaded:
    """What threads met, all of it refused or as if alone.

    Attributes:
        overlaps: pairs of calls in one session of which neither waited for the other
        refused: calls that were refused for such company
        binds: of one cache, by threads that all wanted it
        binds_refused: of it, while it was in use
        sessions: on one decoder, generations included
        sessions_refused: for a step that was at work, or had been
        steps_taken: on that decoder
        steps_refused: for a session that was open, or another step
        answers: that were compared with those of one thread
        copies: of a cache that another thread was filling
        called_back: calls that a probe made, from inside another call
        seconds: for all of it
    """

    overlaps: int
    refused: int
    binds: int
    binds_refused: int
    sessions: int
    sessions_refused: int
    steps_taken: int
    steps_refused: int
    answers: int
    copies: int
    called_back: int
    seconds: float


def hunt_threads(n_rounds: int, stride: int = 1) -> Threaded:
    """Let threads meet in every way there is.

    Args:
        n_rounds: of each thread, at least
        stride: one place of so many from which a probe calls back; 1 is all

    Raises:
        Inconsistent: something was torn; or threads met too seldom.
    """
    began, counts = perf_counter(), Counter[str]()
    counts.update(hunt_in_one_session(n_rounds))
    counts.update(hunt_on_one_decoder(n_rounds))
    counts.update(hunt_binds_of_one_cache(n_rounds))
    counts.update(hunt_copies(n_rounds))
    counts["called_back"] = hunt_calls_back(stride)
    return Threaded(**counts, seconds=perf_counter() - began)


def threads_table(threaded: Threaded) -> Table:
    """A line a figure."""
    title = f"threads, in {threaded.seconds:.1f} s"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("what happened")
    table.add_column("times", justify="right")
    for field in fields(threaded)[:-1]:
        times: int = getattr(threaded, field.name)
        table.add_row(field.name.replace("_", " "), f"{times:,}")
    return table
