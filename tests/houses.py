"""Houses that break a rule, with what it says of them, and houses that just keep it."""

from typing import Final

from tests.house_rules import (
    House,
    Rule,
    errors_are_raised_in_one_place,
    functions_are_short,
    imports_have_no_cycle,
    imports_point_down,
    modules_are_named_for_their_job,
    modules_are_short,
    packages_name_their_exports_only,
    public_names_have_docstrings,
    silencers_have_code_and_reason,
)

_ERRORS: Final = '''"""Errors."""
class Family(Exception):
    """A promise."""
class Full(Family):
    """A fact."""
'''
_LONG_FUNCTION: Final = "def f():\n" + 40 * "    pass\n"

BAD_HOUSES: Final[list[tuple[Rule, House, list[str]]]] = [
    (
        imports_point_down,
        {"engine/a.py": "import reference.replay"},
        ["engine.a imports reference.replay"],
    ),
    (
        imports_point_down,
        {"engine/a.py": "def f():\n    from properties import laws"},
        ["engine.a imports properties"],
    ),
    (
        imports_point_down,
        {"engine/layers.py": "", "reference/a.py": "from engine import layers"},
        ["reference.a imports engine.layers"],
    ),
    (
        imports_point_down,
        {"reference/a.py": "from engine import Decoder"},
        ["reference.a imports engine"],
    ),
    (
        imports_point_down,
        {"reference/a.py": "import engine.configuration"},
        ["reference.a imports engine.configuration"],
    ),
    (
        imports_point_down,
        {"reference/a.py": "from ..engine import layers"},
        ["reference.a imports ..engine"],
    ),
    (
        imports_point_down,
        {"properties/a.py": "import tests.golden"},
        ["properties.a imports tests.golden"],
    ),
    (
        imports_have_no_cycle,
        {"engine/a.py": "import engine.b", "engine/b.py": "from engine import a"},
        ["engine.a -> engine.b -> engine.a"],
    ),
    (
        imports_have_no_cycle,
        {"engine/a.py": "def f():\n    import engine.a"},
        ["engine.a -> engine.a"],
    ),
    (
        modules_are_short,
        {"engine/a.py": 251 * "\n"},
        ["engine/a.py has 251 lines"],
    ),
    (
        modules_are_short,
        {"tests/a.py": 251 * "\n"},
        ["tests/a.py has 251 lines"],
    ),
    (
        functions_are_short,
        {"engine/a.py": _LONG_FUNCTION},
        ["engine.a.f has 41 lines"],
    ),
    (
        functions_are_short,
        {"tests/a.py": "class A:\n  async " + _LONG_FUNCTION},
        ["tests.a.f has 41 lines"],
    ),
    (modules_are_named_for_their_job, {"engine/utils.py": ""}, ["engine/utils.py"]),
    (
        modules_are_named_for_their_job,
        {"engine/common/__init__.py": ""},
        ["engine/common/__init__.py"],
    ),
    (
        packages_name_their_exports_only,
        {"engine/__init__.py": '"""Doc."""\nimport a\n__all__ = ["a"]\nX = 1'},
        ["engine/__init__.py:4"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "a = 1  # noqa # the code is missing"},
        ["engine/a.py:1: # noqa # the code is missing"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "\na = 1  # type: ignore[misc]"},
        ["engine/a.py:2: # type: ignore[misc]"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "a = 1  # noqa: S311 # no secret"},
        ["engine/a.py:1: # noqa: S311 # no secret"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "a = 1  # type: ignore[misc] # noqa: E501"},
        ["engine/a.py:1: # type: ignore[misc] # noqa: E501"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "a = 1  # pragma: no cover"},
        ["engine/a.py:1: # pragma: no cover"],
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "# ruff: noqa: E501 # the file is generated"},
        ["engine/a.py:1: # ruff: noqa: E501 # the file is generated"],
    ),
    (
        errors_are_raised_in_one_place,
        {"engine/errors/a.py": _ERRORS},
        ["Full is raised at 0 places in engine"],
    ),
    (
        errors_are_raised_in_one_place,
        {
            "engine/errors/a.py": _ERRORS,
            "engine/a.py": "raise Full",
            "engine/b.py": "def f():\n    raise Full(1) from None",
        },
        ["Full is raised at 2 places in engine"],
    ),
    (
        errors_are_raised_in_one_place,
        {
            "engine/errors/a.py": _ERRORS,
            "engine/a.py": "raise Full(1)",
            "reference/a.py": "raise Full(1)\nraise ValueError from errors.Full(2)",
        },
        ["Full is raised at 2 places in reference"],
    ),
    (
        public_names_have_docstrings,
        {"engine/a.py": "def f(): ...\nclass A:\n    def g(self): ..."},
        ["engine.a", "engine.a.f", "engine.a.A", "engine.a.A.g"],
    ),
    (public_names_have_docstrings, {"tests/a.py": "def f(): ..."}, ["tests.a"]),
]

TOLERATED_HOUSES: Final[list[tuple[Rule, House]]] = [
    (
        imports_point_down,
        {"reference/a.py": "from engine.config import DecoderConfig\nimport os"},
    ),
    (
        imports_have_no_cycle,
        {
            "engine/a.py": "if TYPE_CHECKING:\n    import engine.b",
            "engine/b.py": "import engine.a",
        },
    ),
    (
        silencers_have_code_and_reason,
        {"engine/a.py": "a = 1  # noqa: E501 # the address is that long"},
    ),
    (
        errors_are_raised_in_one_place,
        {
            "engine/errors/a.py": "class Invalid(ValueError):\n    reason: str",
            "engine/a.py": "raise Invalid('a')\nraise Invalid('b')",
        },
    ),
]
