"""Saving and loading, in a folder that has nothing else in it."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final

from engine import AdamW, Parameter, load, save
from properties.interrupts.scene import Arrange, Scene, refused
from properties.interrupts.world import ADAMW, NO_BLOCK, World, ones_for
from properties.lives import held


class _Folder:
    """A folder for one file, and a world that can be saved there."""

    def __init__(self, n_steps: int) -> None:
        self.folder = Path(mkdtemp())
        self.path = self.folder / "saved"
        self.world = World(config=NO_BLOCK)
        parameters = self.world.decoder.parameters
        for _ in range(n_steps):
            self.world.optimizer.step(parameters, ones_for(parameters))

    def save(self) -> None:
        save(self.path, self.world.decoder, self.world.optimizer, self.world.rng)

    def load(self) -> object:
        loaded = load(self.path)
        optimizer, rng = loaded.optimizer, loaded.rng
        assert optimizer is not None
        assert rng is not None
        return held(loaded.decoder), optimizer.snapshot(), rng.state

    def state(self) -> tuple[object, ...]:
        """Of every file that there is, and of the world."""
        files = tuple(_digest(each) for each in sorted(self.folder.iterdir()))
        return files, self.world.state()

    def anonymous(self, told: str) -> str:
        """What was told of the file, without the folder's name."""
        return told.replace(str(self.folder), "")

    def rest(self) -> tuple[object, ...]:
        return self.load(), self.world.rest()

    def end(self) -> None:
        rmtree(self.folder)


@cache
def _saved(n_steps: int) -> bytes:
    """What a folder's file has in it if it is saved after so many steps."""
    folder = _Folder(n_steps)
    folder.save()
    content = folder.path.read_bytes()
    folder.end()
    return content


def _digest(path: Path) -> str:
    """A file in a few words."""
    content = path.read_bytes()
    return f"{path.name}: {len(content)} bytes, {sha256(content).hexdigest()[:12]}"


def _save() -> Scene:
    folder = _Folder(1)
    return Scene(folder.save, folder.state, folder.rest, folder.end)


def _save_over() -> Scene:
    folder = _Folder(1)
    folder.path.write_bytes(_saved(0))
    return Scene(folder.save, folder.state, folder.rest, folder.end)


def _load() -> Scene:
    folder = _Folder(1)
    folder.path.write_bytes(_saved(1))
    return Scene(folder.load, folder.state, folder.rest, folder.end)


def _refused_save() -> Scene:
    """The optimizer's moments do not fit, so that nobody could load the file."""
    folder = _Folder(0)
    folder.path.write_bytes(_saved(0))
    namesake = Parameter(folder.world.decoder.parameters[0].name, [1.0])
    folder.world.optimizer = AdamW(ADAMW)
    folder.world.optimizer.step([namesake], ones_for([namesake]))

    def call() -> object:
        return folder.anonymous(refused(folder.save))

    return Scene(call, folder.state, end=folder.end)


def _refused_load() -> Scene:
    folder = _Folder(0)
    folder.path.write_bytes(_saved(0)[:-8])

    def call() -> object:
        return folder.anonymous(refused(folder.load))

    return Scene(call, folder.state, folder.world.rest, folder.end)


FILE_SCENES: Final[Mapping[str, Arrange]] = {
    "save": _save,
    "save over an older file": _save_over,
    "refused save": _refused_save,
    "load": _load,
    "refused load": _refused_load,
}
