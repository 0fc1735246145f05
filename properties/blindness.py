"""Whether a mutant of the suite is one: it lets a wrong engine pass, and so is blind.

The suite as it is passes the engine and rejects the wrong one. With the other line it
passes both: so that line is needed, and does what it is there for. One that rejects the
engine too would be broken, and noticed at once.

For this, engine, reference and suite are loaded once more, all three, and the real ones
stay as they are. What is judged crosses over as JSON.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from properties.anew import Anew
from properties.faults import Attempts
from properties.script import Script, to_json
from properties.suite_mutants import Shown, SuiteMutant

DEPTH: Final = 2
"""Of the enumeration: calls after a prelude."""


def lets_pass(mutant: SuiteMutant) -> bool:
    """Whether the suite rejects the wrong engine, and the mutant does not.

    Both have to pass the engine as it is.
    """
    return (
        rejects(mutant, is_blind=False, is_right=False)
        and not rejects(mutant, is_blind=False, is_right=True)
        and not rejects(mutant, is_blind=True, is_right=False)
        and not rejects(mutant, is_blind=True, is_right=True)
    )


def rejects(mutant: SuiteMutant, *, is_blind: bool, is_right: bool) -> bool:
    """Whether the suite rejects an engine, by what the mutant is shown by.

    Args:
        mutant: has a line for the suite, and one for the engine
        is_blind: the suite has its line
        is_right: the engine is as it is, and has not its line
    """
    changed = [*is_blind * [mutant], *(not is_right) * [mutant.wrong]]
    texts = {each.module: each.text() for each in changed}
    assert len(texts) == len(changed)  # no module is changed by both
    try:
        _SHOW[mutant.shown](Anew(texts, lambda _name: True), mutant)
    except AssertionError as error:
        if type(error) is AssertionError:
            raise  # an invariant, and no verdict
        return True
    return False


def _show_script(suite: Anew, mutant: SuiteMutant) -> None:
    _judge_all(suite, [_witness(suite, mutant)])


def _show_reach(suite: Anew, mutant: SuiteMutant) -> None:
    """Count what the script reaches, and look for the floors."""
    floors = suite.module("properties.floors")
    judge = suite.module("properties.judge").Judge()
    census = floors.Census()
    census.record(judge(_witness(suite, mutant)))
    floors.require(census, {floors.Outcome(*each): 1 for each in mutant.floors})


def _show_enumeration(suite: Anew, mutant: SuiteMutant) -> None:
    scripts = suite.module("properties.enumeration").scripts
    for geometry in suite.module("properties.alphabets").GEOMETRIES:
        _judge_all(suite, _chosen(scripts(geometry, DEPTH), mutant))


def _show_requests(suite: Anew, mutant: SuiteMutant) -> None:
    made = suite.module("properties.requests").request_sweep()
    _judge_all(suite, _chosen(made, mutant))


def _show_faults(suite: Anew, mutant: SuiteMutant) -> None:
    """Sweep one call from one start, and look for what is missing of that."""
    faults = suite.module("properties.faults")
    grid = suite.module("properties.fault_grid")
    judge = suite.module("properties.judge").Judge()

    def going(attempts: Attempts) -> Attempts:
        here = mutant.call, mutant.start
        return [each for each in attempts if (each[0].call, each[1].name) == here]

    swept = faults.sweep(judge, faults.one_from(0), going)
    try:
        grid.require_complete(swept, 1)
    except grid.StrikesMissed as missed:
        here = f"{mutant.call} from {mutant.start}, "
        if any(each.startswith(here) for each in missed.missed):
            raise


_SHOW: Final[Mapping[Shown, Callable[[Anew, SuiteMutant], None]]] = {
    "script": _show_script,
    "reach": _show_reach,
    "enumeration": _show_enumeration,
    "requests": _show_requests,
    "faults": _show_faults,
}


def _witness(suite: Anew, mutant: SuiteMutant) -> Script:
    """The script, of the suite's own records."""
    read: Script = suite.module("properties.script").from_json(to_json(mutant.witness))
    return read


def _chosen(scripts: Iterable[Script], mutant: SuiteMutant) -> Iterator[Script]:
    """Those with the call in which the engine is wrong; the others cannot tell."""
    for script in scripts:
        if mutant.call in {each.call for each in script.calls}:
            yield script


def _judge_all(suite: Anew, scripts: Iterable[Script]) -> None:
    judge = suite.module("properties.judge").Judge()
    for script in scripts:
        judge(script)
