"""What pytest needs before it collects: how long to hunt.

Hypothesis takes ``--hypothesis-profile quick`` or ``deep``. With neither, the hunts of
this package run at ``default`` length, whatever profile the rest of a test run uses:
an installed plugin has no business in other people's tests.
"""

from typing import Final

from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

_DATABASE: Final = DirectoryBasedExampleDatabase(".hypothesis/examples")


def _profile(max_examples: int, steps: int) -> settings:
    # With CI set, Hypothesis takes settings that are derandomized, keep no database and
    # silence health checks; whatever is made afterwards inherits that, if not told.
    return settings(
        database=_DATABASE,
        deadline=None,  # correctness never depends on time
        derandomize=False,
        max_examples=max_examples,
        print_blob=True,
        report_multiple_bugs=False,  # two symptoms of one fault are one failure
        stateful_step_count=steps,
        suppress_health_check=(),
    )


PROFILES: Final = {
    "quick": _profile(max_examples=20, steps=20),
    "default": _profile(max_examples=300, steps=30),
    "deep": _profile(max_examples=3_000, steps=50),
}

for _name in ("quick", "deep"):
    settings.register_profile(_name, PROFILES[_name])


def hunting_settings() -> settings:
    """The settings of this run's hunts."""
    name = settings.get_current_profile_name()
    return PROFILES.get(name, PROFILES["default"])
