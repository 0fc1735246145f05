"""Packages that only some files need; the extra ``gguf`` installs them."""

from importlib import import_module
from types import ModuleType

from engine.container import reject


def extra(path: str, package: str) -> ModuleType:
    """A package that is needed to read a file.

    Raises:
        FileRejected: it is not installed.
    """
    try:
        return import_module(package)
    except ImportError as error:
        reject(path, package, "is needed, run pip install 'cachehound[gguf]'", error)
