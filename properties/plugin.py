"""What pytest needs before it collects: how long to hunt.

Hypothesis takes ``--hypothesis-profile quick`` or ``deep``. With neither, the hunts of
this package run at ``default`` length, whatever profile the rest of a test run uses:
an installed plugin has no business in other people's tests.
"""

from typing import Final, NamedTuple

import pytest
from hypothesis import Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

_STEPS: Final = 12  # turns, of several calls each
_DATABASE: Final = DirectoryBasedExampleDatabase(".hypothesis/examples")


def _profile(max_examples: int, *more: Phase) -> settings:
    # With CI set, Hypothesis takes settings that are derandomized, keep no database and
    # silence health checks; whatever is made afterwards inherits that, if not told.
    return settings(
        database=_DATABASE,
        deadline=None,  # correctness never depends on time
        derandomize=False,
        max_examples=max_examples,
        phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink, *more),
        print_blob=True,
        report_multiple_bugs=False,  # two symptoms of one fault are one failure
        stateful_step_count=_STEPS,
        suppress_health_check=(),
    )


class Length(NamedTuple):
    """How long a run hunts.

    Attributes:
        machine: settings of the state machine
        more: of the shorter runs that follow where a floor was not reached by then
        climb: of a second run, towards large errors and many kinds of answers; what it
            climbs it repeats, so it cannot be asked to reach everything
        depth: of the enumeration
        has_floors: whether it is long enough to reach every cell
        hostile: settings of the hunts for input that nobody should give
        has_all_faults: whether everything is raised at every point of a call, not one
            thing at each
        stride: of the bytecode boundaries at which a call is interrupted, and of the
            scripts across scales; 1 is all
        n_signals: that a child process gets while it works
        n_kills: of a child process that saves
        n_rounds: of each thread
    """

    machine: settings
    more: settings
    climb: settings
    depth: int
    has_floors: bool
    hostile: settings
    has_all_faults: bool
    stride: int
    n_signals: int
    n_kills: int
    n_rounds: int


def _length(tenths: int, depth: int, stride: int, *, has_floors: bool) -> Length:
    """So many tenths of the default length."""
    return Length(
        machine=_profile(35 * tenths),
        more=_profile(5 * tenths),
        climb=_profile(5 * tenths, Phase.target),
        depth=depth,
        has_floors=has_floors,
        hostile=_profile(20 * tenths),
        has_all_faults=stride == 1,
        stride=stride,
        n_signals=50 * tenths,
        n_kills=5 * tenths,
        n_rounds=20 * tenths,
    )


PROFILES: Final = {
    "quick": _length(1, depth=2, stride=200, has_floors=False),
    "default": _length(10, depth=3, stride=30, has_floors=True),
    "deep": _length(100, depth=4, stride=1, has_floors=True),
}

for _name in ("quick", "deep"):
    settings.register_profile(_name, PROFILES[_name].machine)


def length_of_hunt() -> Length:
    """How long this run hunts."""
    name = settings.get_current_profile_name()
    return PROFILES.get(name, PROFILES["default"])


def pytest_addoption(parser: pytest.Parser) -> None:
    """The hunts' own options; other tests have no use for them."""
    group = parser.getgroup("cachehound")
    group.addoption(
        "--property", metavar="ID", help="hunt for what breaks this property alone"
    )
    group.addoption(
        "--floors", action="store_true", help="print what the hunts have reached"
    )
