"""Scripts of every maker in turn, until one of them shows a mutant for what it is."""

from collections.abc import Iterator
from functools import cache
from itertools import count, islice
from random import Random
from time import perf_counter
from typing import Final, NamedTuple, TypeAlias

from hypothesis import seed as seeded, settings
from hypothesis.stateful import run_state_machine_as_test

from engine.arrays import DType
from properties.alphabets import GEOMETRIES
from properties.cells import CALLS, CONFIG, MODES, starts
from properties.enumeration import scripts
from properties.extremes import extreme_sweep
from properties.geometry import configs, position_sweep
from properties.judge import Judge, PropertyFailed
from properties.machine import SessionMachine
from properties.plugin import PROFILES
from properties.points import n_points
from properties.requests import request_sweep
from properties.script import FAULTS, Fault, Script

ENUMERATION: Final = "enumeration"
SWEEP: Final = "sweep"
MACHINE: Final = "machine"
DEPTH: Final = 2
ROUNDS: Final = 30

_N_ENUMERATED: Final = 40
_N_FAULTS: Final = 16
_N_POSITIONS: Final = 1
_N_FAR: Final = 3
_N_REQUESTS: Final = 60
_N_EXTREMES: Final = 8
_N_MACHINE: Final = 3

Made: TypeAlias = tuple[str, Script]


class Kill(NamedTuple):
    """How a mutant was found out.

    Attributes:
        maker: of the script
        n_calls: judged until then, that script's among them
        seconds: until then, with the making
        failure: what the judge said
    """

    maker: str
    n_calls: int
    seconds: float
    failure: PropertyFailed


def chase(judge: Judge, seed: int, n_rounds: int = ROUNDS) -> Kill | None:
    """The first kill, if there is one in so many rounds.

    A round has scripts of every maker: of the enumeration in random order, of the
    sweeps at random places, and of the state machine.

    Args:
        judge: of the mutant
        seed: decides what is drawn
        n_rounds: at most
    """
    began, n_calls = perf_counter(), 0
    for maker, script in _made(seed, n_rounds):
        n_calls += len(script.calls)
        try:
            judge(script)
        except PropertyFailed as failure:
            return Kill(maker, n_calls, perf_counter() - began, failure)
        except Exception:  # noqa: BLE001, S112 # what a judge needs may be broken too,
            continue  # and that is no kill
    return None


def _made(seed: int, n_rounds: int) -> Iterator[Made]:
    rng = Random(seed)  # noqa: S311 # draws scripts, no secrets
    enumerated = iter(rng.sample(_short_scripts(), k=len(_short_scripts())))
    faults = _faults(rng)
    requests = iter(rng.sample(_requests(), k=len(_requests())))
    extremes = iter(rng.sample(_extremes(), k=len(_extremes())))
    positions = iter(rng.sample(_far_positions(), k=len(_far_positions())))
    for n in range(n_rounds):
        yield from ((ENUMERATION, each) for each in islice(enumerated, _N_ENUMERATED))
        yield from ((SWEEP, each) for each in islice(requests, _N_REQUESTS))
        yield from ((SWEEP, each) for each in islice(faults, _N_FAULTS))
        yield from ((SWEEP, each) for each in islice(extremes, _N_EXTREMES))
        yield from ((SWEEP, each) for each in islice(positions, _N_POSITIONS))
        if n > 1:  # it begins slowly
            yield from ((MACHINE, each) for each in _machine(n_rounds * seed + n))


@cache
def _short_scripts() -> tuple[Script, ...]:
    return tuple(
        script for geometry in GEOMETRIES for script in scripts(geometry, DEPTH)
    )


@cache
def _requests() -> tuple[Script, ...]:
    return tuple(request_sweep())


@cache
def _extremes() -> tuple[Script, ...]:
    return tuple(extreme_sweep())


@cache
def _far_positions() -> tuple[Script, ...]:
    """The farthest of each dtype: what a nearer one shows, they show too."""
    by_dtype = dict[DType, list[Script]]()
    for each in position_sweep():
        by_dtype.setdefault(each.config.dtype, []).append(each)
    return tuple(each for made in by_dtype.values() for each in made[-_N_FAR:])


def _faults(rng: Random) -> Iterator[Script]:
    """Cells of the fault sweep, anywhere."""
    cells = [
        (call, start) for call in CALLS for start in starts(call) if not start.refusal
    ]
    for _ in count():
        call, start = rng.choice(cells)
        fault = Fault(
            call=len(start.calls),
            point=rng.randrange(2 * n_points(CONFIG, call)),  # tokens are chosen too
            raises=rng.choice(FAULTS),
        )
        yield rng.choice(MODES).scripted(start, call, fault)


def _machine(seed: int) -> list[Script]:
    """What the state machine makes of a seed."""
    made = list[Script]()
    length = settings(
        PROFILES["default"].machine,
        database=None,
        max_examples=_N_MACHINE,
    )

    @seeded(seed)
    def machine() -> SessionMachine:
        return SessionMachine(made.append, configs())

    run_state_machine_as_test(
        machine,  # type: ignore[arg-type] # takes any maker of them, its docs say
        settings=length,
    )
    return made
