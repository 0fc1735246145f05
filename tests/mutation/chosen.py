"""Which mutants are worth a run: what is exchanged for what, and where that says much.

cosmic-ray offers every operator in exchange for every other one, everywhere. Most of
that dies at the first call or says the same as its neighbour, so each operator has one
partner or two here. Left out altogether:

- decorators, and what they are told: records die without theirs at once, their flags
  are promises to the type checker, and a memo is as good as its absence;
- annotations and aliases of types, and what only the type checker reads;
- ``strict`` of a ``zip``, which like an assertion speaks up only where we are wrong;
- a negated condition where the comparison that it consists of is exchanged anyway.
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

Position: TypeAlias = tuple[int, int]
"""A line from 1 and a column from 0, in characters."""

_BINARY: Final[Mapping[str, tuple[str, ...]]] = {
    "Add": ("Sub", "Mul"),
    "Sub": ("Add",),
    "Mul": ("Div", "Add"),
    "Div": ("Mul",),
    "FloorDiv": ("Mul", "Div"),
    "Mod": ("FloorDiv",),
    "Pow": ("Mul",),
    "LShift": ("RShift",),
    "RShift": ("LShift",),
    "BitOr": ("BitAnd",),
    "BitAnd": ("BitOr",),
    "BitXor": ("BitOr",),
}
_COMPARISONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Eq": ("NotEq",),
    "NotEq": ("Eq",),
    "Lt": ("LtE", "GtE"),
    "LtE": ("Lt", "Gt"),
    "Gt": ("GtE", "LtE"),
    "GtE": ("Gt", "Lt"),
    "Is": ("IsNot",),
    "IsNot": ("Is",),
}
OPERATORS: Final = frozenset(
    f"core/{name}"
    for name in (
        *(
            f"ReplaceBinaryOperator_{one}_{other}"
            for one, others in _BINARY.items()
            for other in others
        ),
        *(
            f"ReplaceComparisonOperator_{one}_{other}"
            for one, others in _COMPARISONS.items()
            for other in others
        ),
        *(f"ReplaceUnaryOperator_Delete_{one}" for one in ("USub", "Not", "Invert")),
        *("AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
        *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue"),
        *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
        *("NumberReplacer", "ExceptionReplacer", "ZeroIterationForLoop"),
    )
)


class Places:
    """The places of a module that say nothing."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        nodes = list(ast.walk(ast.parse(text)))
        self._silent = [self._span(each) for each in _silent(nodes)]
        self._binary = [
            self._operator(each) for each in nodes if isinstance(each, ast.BinOp)
        ]
        self._negated = {
            self._span(each.test).start
            for each in nodes
            if isinstance(each, ast.If | ast.While | ast.Assert | ast.IfExp)
            and _is_exchanged(each.test)
        }

    def are_worth_it(self, operator: str, start: Position) -> bool:
        """Whether an operator is chosen, and this is a place for it."""
        if operator not in OPERATORS or any(start in each for each in self._silent):
            return False
        if operator == "core/AddNot":
            return start not in self._negated
        # A star in a list of arguments or parameters, which looks like a product.
        is_binary = operator.startswith("core/ReplaceBinaryOperator")
        return not is_binary or any(start in each for each in self._binary)

    def _span(self, node: ast.expr | ast.stmt | ast.keyword) -> "_Span":
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return _Span(
            self._position(node.lineno, node.col_offset),
            self._position(node.end_lineno, node.end_col_offset),
        )

    def _operator(self, node: ast.BinOp) -> "_Span":
        return _Span(self._span(node.left).end, self._span(node.right).start)

    def _position(self, line: int, n_bytes: int) -> Position:
        return line, len(self._lines[line - 1].encode()[:n_bytes].decode())


class _Span(NamedTuple):
    start: Position
    end: Position

    def __contains__(self, place: object) -> bool:
        assert isinstance(place, tuple)
        return self.start <= place < self.end


def _silent(nodes: list[ast.AST]) -> Iterator[ast.expr | ast.stmt | ast.keyword]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from node.decorator_list
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            yield node.returns
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.annotation
        if isinstance(node, ast.AnnAssign):
            is_alias = ast.unparse(node.annotation) == "TypeAlias"
            yield node if is_alias else node.annotation
        if isinstance(node, ast.If) and ast.unparse(node.test) in _NEVER_RUN:
            yield node
        if isinstance(node, ast.keyword) and node.arg == "strict":
            yield node


_NEVER_RUN: Final = {"TYPE_CHECKING", "__name__ == '__main__'"}


def _is_exchanged(test: ast.expr) -> bool:
    """Whether a condition is one operator that another operator negates."""
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    if isinstance(test, ast.Constant):
        return isinstance(test.value, bool)
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and not isinstance(test.ops[0], ast.In | ast.NotIn)
    )
