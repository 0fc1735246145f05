"""The stored scripts: each is judged by the hunt; here, what they reach together."""

from importlib.resources import files

from properties.floors import CORPUS_FLOORS, Census, require
from properties.judge import Judge
from properties.script import from_json, to_json

SCRIPTS = sorted((files("properties") / "corpus").iterdir(), key=lambda path: path.name)


def test_corpus_reaches_what_the_machine_cannot_be_asked_for() -> None:
    census = Census()
    for path in SCRIPTS:
        if not path.name.startswith("golden"):
            census.record(Judge()(from_json(path.read_bytes())))

    require(census, CORPUS_FLOORS)


def test_corpus_is_written_as_scripts_are() -> None:
    for path in SCRIPTS:
        text = path.read_text(encoding="utf-8")

        assert text == to_json(from_json(text))
