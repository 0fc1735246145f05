"""What the hunts share: their judges, and the tables that they print on demand."""

from collections.abc import Callable

import pytest
from rich.console import Console

from properties.floors import Census, Floors, require, table
from properties.judge import Judge
from properties.laws import LAWS


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse a property that there is not, before anything runs."""
    law = session.config.getoption("--property")
    if law is not None and law not in LAWS:
        raise pytest.UsageError(f"{law} is none of {', '.join(LAWS)}")


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
