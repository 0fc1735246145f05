"""Every sequence of calls up to a depth, over small alphabets on small geometries.

Random scripts rarely repeat a short sequence with one call exchanged; here nothing up
to the depth is left out, so a fault that a few calls can show is shown.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import Final

from properties.alphabets import GEOMETRIES, Geometry
from properties.floors import RANDOM_FLOORS, Census, Floors, Outcome, Pair, Struck
from properties.graph import DONE, EDGES, FALLIBLE, Edge
from properties.judge import Verdict
from properties.points import Fallible, n_points
from properties.script import FAULTS, Fault, Script


def scripts(geometry: Geometry, depth: int) -> Iterator[Script]:
    """Every sequence of 1 to ``depth`` calls of the alphabet, short ones first."""
    for length in range(1, depth + 1):
        for calls in product(geometry.alphabet, repeat=length):
            yield Script(
                config=geometry.config,
                weights=geometry.weights,
                calls=geometry.prelude + calls,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumeration:
    """What was run, and what it reached; the preludes are among the calls.

    Attributes:
        n_faulty: scripts that were run once more, with a fault in their last call
    """

    n_geometries: int
    n_scripts: int
    n_calls: int
    n_faulty: int
    seconds: float
    census: Census

    @property
    def edges(self) -> frozenset[Edge]:
        """Edges of the abstract state graph that were taken."""
        return frozenset(each for each in self.census.counts if isinstance(each, Edge))

    @property
    def states(self) -> frozenset[str]:
        """Abstract states that the cache in focus was in."""
        return frozenset(
            state for edge in self.edges for state in (edge.before, edge.after)
        )


def faulty(script: Script, verdict: Verdict, n: int) -> Iterator[Script]:
    """The script with a fault in its last call, where that was done and can fail.

    Args:
        script: one that was judged
        verdict: what was seen of it
        n: a number of its own, which chooses points and what is raised
    """
    last, index = script.calls[-1], len(script.calls) - 1
    if verdict.seen[-1].outcome != DONE or not isinstance(last, Fallible):
        return
    points = n_points(script.config, last)
    *errors, interrupt = FAULTS
    for point, raises in (
        (n % points, errors[n % len(errors)]),
        (points - 1 - n % points, interrupt),
    ):
        fault = Fault(call=index, point=point, raises=raises)
        yield script.model_copy(update={"faults": (fault,)})


def enumerate_all(
    judge: Callable[[Script], Verdict],
    depth: int,
    geometries: Sequence[Geometry] = GEOMETRIES,
) -> Enumeration:
    """Judge every script up to the depth; what the judge raises comes out.

    Args:
        judge: runs one script and tells what was seen
        depth: the most calls after a prelude
        geometries: all of them, if not told
    """
    census, n_scripts, n_calls, n_faulty = Census(), 0, 0, 0
    began = perf_counter()
    for geometry in geometries:
        for script in scripts(geometry, depth):
            verdict = judge(script)
            census.record(verdict)
            n_scripts += 1
            n_calls += len(script.calls)
            if len(script.calls) - len(geometry.prelude) > FAULTY_DEPTH:
                continue
            for broken in faulty(script, verdict, n_faulty):
                census.record(judge(broken))
                n_faulty += 1
    return Enumeration(
        n_geometries=len(geometries),
        n_scripts=n_scripts,
        n_calls=n_calls,
        n_faulty=n_faulty,
        seconds=perf_counter() - began,
        census=census,
    )


_FAILED: Final = "StageFailed", "KeyboardInterrupt"
_OUTCOMES: Final = frozenset(
    Outcome(call, outcome)
    for call, outcomes in {
        "new cache": (DONE,),
        "copy": (DONE,),
        "bind": (DONE, "CacheInUse", "ParameterRevisionMismatch"),
        "bind rebuilt": ("ParameterMismatch",),
        "bind changed": ("ConfigMismatch",),
        "prefill": (
            *(DONE, "SessionClosed", "EmptyPrompt", "PrefillRequiresEmpty"),
            *("PromptTooLong", "PromptTokenOutOfRange", *_FAILED),
        ),
        "decode": (
            *(DONE, "SessionClosed", "DecodeRequiresPrefill"),
            *("DecodeTokenOutOfRange", "CacheFull", *_FAILED),
        ),
        "reset": (DONE, "SessionClosed"),
        "close": (DONE,),
        "step": (DONE, "ParameterBorrowed"),
        "generate": (DONE, *_FAILED),
    }.items()
    for outcome in outcomes
)
"""Written down, not computed: a letter that is taken away is missed."""

FAULTY_DEPTH: Final = 3
"""Calls up to a planned fault and with it, at most."""

_SHALLOW: Final = 3
"""Calls that reach every cell, but for edges from the states of the next table."""

_DEEP_SHARED: Final[Mapping[str, int]] = {"full unbound": 4}
"""The last alphabet's exception: by state, calls up to an edge from it."""


def enumeration_floors(depth: int) -> Floors:
    """1 for each cell of a complete enumeration; below a depth of 3, no floors."""
    if depth < _SHALLOW:
        return {}
    alphabets = [[call.call for call in each.alphabet] for each in GEOMETRIES]
    pairs = {Pair(*both) for each in alphabets for both in product(each, repeat=2)}
    edges = {
        edge
        for edge in EDGES
        if Outcome(edge.call, edge.outcome) in _OUTCOMES
        and not _needs_more(edge)
        and _depth_of(edge) <= depth
    }
    moves = {edge.move for edge in edges}
    struck = [Struck(call, again=False) for call in FALLIBLE]
    return dict.fromkeys((*_OUTCOMES, *pairs, *struck, *edges, *moves), 1)


def _depth_of(edge: Edge) -> int:
    """Calls up to this edge and with it, in the alphabet that has the shortest way."""
    elsewhere = {call.call for each in GEOMETRIES[:-1] for call in each.alphabet}
    is_elsewhere = edge.call in elsewhere
    return _SHALLOW if is_elsewhere else _DEEP_SHARED.get(edge.before, _SHALLOW)


def _needs_more(edge: Edge) -> bool:
    """Whether no alphabet has what this edge takes."""
    hold = edge.before.partition(" ")[2]
    stays, is_stale = edge.before == edge.after, edge.before == "stale"
    needs_an_older_session = hold == "bound" and (
        edge.outcome == "SessionClosed" or (edge.call == "close" and stays)
    )
    steps = edge.call == "step" and edge.outcome == DONE
    needs_other_parameters = steps and stays and not is_stale
    needs_a_newer_cache = edge.outcome == "ParameterBorrowed" and is_stale
    needs_a_late_fault = edge.outcome in _FAILED and _depth_of(edge) > FAULTY_DEPTH
    return (
        needs_an_older_session
        or needs_other_parameters
        or needs_a_newer_cache
        or needs_a_late_fault
    )


MACHINE_FLOORS: Final[Floors] = {
    cell: floor
    for cell, floor in RANDOM_FLOORS.items()
    if cell not in enumeration_floors(_SHALLOW)
}
"""Of the state machine: what the enumeration does not reach for sure."""
