"""The house rules: each takes a house and names what breaks it.

A house is a mapping from paths to source text, so that a bad one is a line or two.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath
from typing import Final, TypeAlias

House: TypeAlias = Mapping[str, str]
Rule: TypeAlias = Callable[[House], list[str]]
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

MAY_IMPORT: Final = {
    "engine": ("engine",),
    "reference": (
        "reference",
        "engine.arrays",
        "engine.config",
        "engine.errors",
        "engine.work",
        "engine.request",
        "engine.stages",
    ),
    "properties": ("properties", "reference", "engine"),
    "tests": ("tests", "properties", "reference", "engine"),
}
MAX_MODULE_LINES: Final = 250
MAX_FUNCTION_LINES: Final = 40
VAGUE_NAMES: Final = {"utils", "helpers", "common", "base", "types", "manager"}

# An error with one of these fields is one class for many facts: the field tells them
# apart, and each has its own place.
TELLING_FIELDS: Final = {"reason", "stage"}

_SILENCER: Final = re.compile(
    r"type: ?ignore|noqa|pragma: ?no|mypy:|ruff:|fmt: ?(off|skip)", re.IGNORECASE
)
_REASONED: Final = re.compile(
    r"#( (type: ignore\[[a-z, -]+\]|noqa: [A-Z]+\d+(, [A-Z]+\d+)*"
    r"|pragma: no (cover|branch)) #)+ (?!type:|noqa|pragma)\w{3,}.{5,}"
)


def imports_point_down(house: House) -> list[str]:
    """``tests`` on ``properties`` on ``engine`` and ``reference``, by whole names."""
    return [
        f"{module} imports {target}"
        for module, tree in _modules(house).items()
        for target in _imports(ast.walk(tree), house)
        if target.split(".")[0] in {*MAY_IMPORT, ""}
        and not any(
            f"{target}.".startswith(f"{allowed}.")
            for allowed in MAY_IMPORT[module.split(".")[0]]
        )
    ]


def imports_have_no_cycle(house: House) -> list[str]:
    """What runs when a module is imported or used never leads back to it."""
    graph = {
        module: set(_imports(_run_time(tree), house))
        for module, tree in _modules(house).items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" -> ".join(error.args[1])]
    return []


def modules_are_short(house: House) -> list[str]:
    """Those of tests too: a long table of cases has a file of its own."""
    return [
        f"{path} has {n_lines} lines"
        for path, text in house.items()
        if (n_lines := len(text.splitlines())) > MAX_MODULE_LINES
    ]


def functions_are_short(house: House) -> list[str]:
    """From ``def`` to the last line, docstring included."""
    return [
        f"{module}.{node.name} has {n_lines} lines"
        for module, tree in _modules(house).items()
        for node in ast.walk(tree)
        if isinstance(node, _Function)
        and (n_lines := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]


def modules_are_named_for_their_job(house: House) -> list[str]:
    """A name that fits every file describes none."""
    return [
        path
        for path in house
        if VAGUE_NAMES & set(PurePosixPath(path).with_suffix("").parts)
    ]


def packages_name_their_exports_only(house: House) -> list[str]:
    """An ``__init__`` has a docstring, imports and ``__all__``."""
    return [
        f"{path}:{node.lineno}"
        for path, text in house.items()
        if path.endswith("__init__.py")
        for node in _parsed(text).body
        if not isinstance(node, ast.Import | ast.ImportFrom)
        and not _is_docstring(node)
        and not ast.unparse(node).startswith("__all__ = ")
    ]


def silencers_have_code_and_reason(house: House) -> list[str]:
    """``# noqa: CODE # reason``, and so on; never a whole file."""
    return [
        f"{path}:{token.start[0]}: {token.string}"
        for path, text in house.items()
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
        and _SILENCER.search(token.string)
        and not _REASONED.fullmatch(token.string)
    ]


def errors_are_raised_in_one_place(house: House) -> list[str]:
    """Once in the engine, and at most once more in the reference, as a cause too."""
    raised = {
        package: Counter(
            name
            for module, tree in _modules(house).items()
            if module.split(".")[0] == package
            for name in _made_or_raised(tree)
        )
        for package in ("engine", "reference")
    }
    return [
        f"{leaf} is raised at {raised[package][leaf]} places in {package}"
        for leaf, has_many_facts in _leaf_errors(house).items()
        for package, least in (("engine", 1), ("reference", 0))
        if raised[package][leaf] < least
        or (raised[package][leaf] > 1 and not has_many_facts)
    ]


def public_names_have_docstrings(house: House) -> list[str]:
    """Modules everywhere; in engine and reference their classes and functions too."""
    return [
        f"{module}{name}"
        for module, tree in _modules(house).items()
        for name, node in _public(tree)
        if (not name or module.startswith(("engine", "reference")))
        and ast.get_docstring(node) is None
    ]


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _modules(house: House) -> dict[str, ast.Module]:
    """Syntax trees by dotted module name."""
    return {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): tree
        for path, tree in zip(house, map(_parsed, house.values()), strict=True)
    }


def _imports(nodes: Iterable[ast.AST], house: House) -> Iterator[str]:
    """Imported modules by dotted name; a relative one begins with its dots."""
    known = _modules(house)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            for alias in node.names:
                submodule = f"{origin}.{alias.name}"
                yield submodule if submodule in known else origin


def _run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node outside ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from _run_time(node)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _made_or_raised(tree: ast.Module) -> Iterator[str]:
    """``Name`` of every ``Name(…)``, ``module.Name(…)`` and ``raise Name``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func).split(".")[-1]
        elif isinstance(node, ast.Raise) and not isinstance(node.exc, ast.Call):
            yield ast.unparse(node.exc or node).split(".")[-1]


def _leaf_errors(house: House) -> dict[str, bool]:
    """Error classes without subclasses, and whether each stands for many facts."""
    classes = [
        node
        for module, tree in _modules(house).items()
        if module.startswith("engine.errors")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    parents = {ast.unparse(parent) for node in classes for parent in node.bases}
    return {
        node.name: any(
            isinstance(field, ast.AnnAssign)
            and ast.unparse(field.target) in TELLING_FIELDS
            for field in node.body
        )
        for node in classes
        if node.name not in parents
    }


def _public(
    scope: ast.Module | ast.ClassDef, prefix: str = ""
) -> Iterator[tuple[str, ast.Module | ast.ClassDef | _Function]]:
    """What a reader may use, by name from the module on; setters belong to getters."""
    yield prefix, scope
    for node in scope.body:
        if not isinstance(node, ast.ClassDef | _Function) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _public(node, f"{prefix}.{node.name}")
        elif not any(".setter" in ast.unparse(each) for each in node.decorator_list):
            yield f"{prefix}.{node.name}", node
