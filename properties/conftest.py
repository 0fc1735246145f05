"""What the hunts share: their judges, and the tables that they print on demand."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from properties.floors import Census, Floors, require, table
from properties.judge import Judge
from properties.laws import LAWS

HERE: Final = Path(__file__).parent
SWEPT: Final = {"A3": "test_interrupts.py"}
"""Properties that no judge asks, and the hunts that look for what breaks them."""


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Hunt for the property that was named alone; refuse one that there is not."""
    law = config.getoption("--property")
    if law is None:
        return
    if law not in LAWS and law not in SWEPT:
        raise pytest.UsageError(f"{law} is none of {', '.join([*LAWS, *SWEPT])}")
    others = [each for each in items if _is_ours(each) and not _asks(each, law)]
    config.hook.pytest_deselected(items=others)
    items[:] = [each for each in items if each not in others]


def _is_ours(item: pytest.Item) -> bool:
    return item.path.parent == HERE


def _asks(item: pytest.Item, law: str) -> bool:
    if law in SWEPT:
        return item.path.name == SWEPT[law]
    return isinstance(item, pytest.Function) and "new_judge" in item.fixturenames


@pytest.fixture
def new_judge(request: pytest.FixtureRequest) -> Callable[[], Judge]:
    """Makes judges that ask every law, or the one that was named."""
    law = request.config.getoption("--property")
    return Judge if law is None else lambda: Judge(laws=[LAWS[law]])


@pytest.fixture
def reached(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> Callable[[Census, Floors], None]:
    """Takes what a maker has reached, shows it if asked to, requires its floors."""

    def told(census: Census, floors: Floors) -> None:
        if floors and request.config.getoption("--floors"):
            with capsys.disabled():
                Console().print(table(census, floors))
        require(census, floors)

    return told
