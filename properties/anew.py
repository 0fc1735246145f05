"""Modules loaded once more beside the real ones, lines of them changed perhaps.

Nothing of it is in ``sys.modules``, and no real module changes: each module that is
loaded anew has an ``__import__`` of its own, which finds the others that are.
"""

import builtins
import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from types import CodeType, ModuleType
from typing import Final

SHARED: Final = ("arrays", "config", "errors", "work", "request", "stages")
"""Modules of ``engine`` that the reference reads too: records, errors and names."""


def is_of_engine(name: str) -> bool:
    """Whether a module is the engine's own, and nothing that others read."""
    package, _, path = name.partition(".")
    return package == "engine" and path.partition(".")[0] not in SHARED


class Anew:
    """A set of modules, each loaded when it is first asked for.

    Args:
        texts: what some modules say instead of their own text
        is_anew: tells of the others, by name, whether they are loaded anew
    """

    def __init__(
        self, texts: Mapping[str, str], is_anew: Callable[[str], bool]
    ) -> None:
        self._texts = texts
        self._is_anew = is_anew
        self._loaded = dict[str, ModuleType]()

    def module(self, name: str) -> ModuleType:
        """A module of the set, or the real one."""
        if name in self._loaded:
            return self._loaded[name]
        if name not in self._texts and not self._is_anew(name):
            return importlib.import_module(name)
        parent, _, child = name.rpartition(".")
        holder = self.module(parent) if parent else None
        if name in self._loaded:
            return self._loaded[name]  # by its package
        module = self._run(name)
        if holder is not None and self._loaded.get(parent) is holder:
            setattr(holder, child, module)
        return module

    def _run(self, name: str) -> ModuleType:
        loader = _loader(name)
        spec = spec_from_loader(name, loader)
        assert spec is not None
        module = module_from_spec(spec)
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._import}
        self._loaded[name] = module
        text = self._texts.get(name)
        code = _code(name) if text is None else compile(text, loader.path, "exec")
        exec(code, vars(module))  # noqa: S102 # the project's own text
        return module

    def _import(
        self,
        name: str,
        _globals: Mapping[str, object] | None = None,
        _locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        _level: int = 0,
    ) -> ModuleType:
        """As the statement has it; nothing here is imported by a relative name."""
        package = name.partition(".")[0]
        if package not in {"engine", "reference", "properties"}:
            return builtins.__import__(name, _globals, _locals, fromlist or ())
        module = self.module(name)
        for each in fromlist or ():
            if not hasattr(module, each):
                self.module(f"{name}.{each}")
        return module if fromlist else self.module(package)


@cache
def _loader(name: str) -> SourceFileLoader:
    """Of a module's file, whoever else has a hand in its import."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        message = f"there is no module {name}"
        raise ImportError(message)
    return SourceFileLoader(name, spec.origin)


@cache
def _code(name: str) -> CodeType:
    code = _loader(name).get_code(name)
    assert code is not None  # a file has one
    return code


@cache
def text_of(name: str) -> str:
    """The text of a module as it is.

    Raises:
        ImportError: there is no such module.
    """
    return _loader(name).get_data(_loader(name).path).decode()
