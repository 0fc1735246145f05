"""``Slip``: the engine's own text, but for a few words."""

import inspect
from dataclasses import dataclass
from types import ModuleType

import pytest

from engine import row
from tests.first_places import At


@dataclass(frozen=True, slots=True)
class Slip:
    """A few words of a module, what stands there instead, and where it shows."""

    name: str
    module: ModuleType
    right: str
    wrong: str
    shows: At

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        text = inspect.getsource(self.module)
        assert text.count(self.right) == 1
        made: dict[str, object] = {}
        changed = compile(text.replace(self.right, self.wrong), "<slip>", "exec")
        exec(changed, made)  # noqa: S102 # the engine's own text
        if self.module is row:
            for name in ("stages", "_attention"):
                patch.setattr(row.Row, name, getattr(made["Row"], name))
        else:
            for name in ("attention_scores", "rms_norm", "rotate", "rotation", "silu"):
                patch.setattr(row, name, made[name])
            patch.setattr(row, "softmax", made["softmax"])
