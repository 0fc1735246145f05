"""Reading and replacing one regular file, and nothing else that a path may lead to.

A pipe would keep its reader waiting for ever, a device may have no end, and either is
lost when a file takes its place.
"""

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from engine.errors import FileRejected
from engine.undo import or_undo


def exact_path(path: str | os.PathLike[str]) -> str:
    """The plain text of a path, asked for once.

    Raises:
        TypeError: it is no path, or one of bytes.
        FileRejected: no file can have it.
    """
    given = str.__str__(os.fspath(path))  # refuses bytes, and unmasks a subclass
    try:
        usable = b"\0" not in os.fsencode(given)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise FileRejected(given, "path", "has a character that no file's name has")
    return given


def read_file(path: str) -> bytes:
    """All bytes of a regular file.

    Raises:
        FileRejected: it is no regular file; nothing was read.
        OSError: it cannot be read.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        _require_regular(path, os.fstat(file.fileno()))
        return file.read()


def replace_file(path: str, content: bytes) -> None:
    """Make ``content`` the file's content: all of it, or nothing.

    Raises:
        FileRejected: the path is of something else; nothing changed.
        OSError: it cannot be written; nothing changed.
    """
    replace_files([(path, content)], lambda: None)


def replace_files(
    contents: Sequence[tuple[str, bytes]], announce: Callable[[], None]
) -> None:
    """The same for several, in this order, once all of them could be written.

    Args:
        contents: of each path
        announce: called right before the first is replaced

    Raises:
        FileRejected: a path is of something else; nothing changed.
        OSError: one cannot be written; nothing changed, or ``announce`` was called.
    """
    targets = [Path(os.path.realpath(path)) for path, _ in contents]
    for (path, _), target in zip(contents, targets, strict=True):
        with suppress(FileNotFoundError):
            _require_regular(path, target.stat())
    partials = [
        target.parent / f".{secrets.token_hex(16)}.partial" for target in targets
    ]

    def write() -> None:
        for partial, target, (_, content) in zip(
            partials, targets, contents, strict=True
        ):
            _write_apart(partial, target, content)
        announce()
        for partial, target in zip(partials, targets, strict=True):
            os.replace(partial, target)  # noqa: PTH105 # Path.replace is this, less plainly

    def forget() -> None:
        for partial in partials:
            partial.unlink(missing_ok=True)

    or_undo(write, forget)
    for target in targets:
        _flush(target.parent)


def _write_apart(partial: Path, target: Path, content: bytes) -> None:
    with partial.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileNotFoundError):
        shutil.copymode(target, partial)


def _flush(folder: Path) -> None:
    # The new file is whole by now, so a system that cannot flush a directory is no
    # reason to report a failure, which would mean that the older file is still there.
    with suppress(OSError):
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _open_at_once(path: str, flags: int) -> int:
    """Open, and wait for nobody who would write to a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _require_regular(path: str, status: os.stat_result) -> None:
    """Refuse what is no regular file; the system itself refuses a folder."""
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise FileRejected(path, "path", "is of no regular file")
