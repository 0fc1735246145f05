"""The same tokens on a fresh cache, on which nothing else happens: what is due."""

from collections.abc import Iterator, Sequence

from properties.calls import Step, Train
from properties.program.lines import FEW, tokens
from properties.program.snapshots import Path, picked
from properties.program.told import Told
from properties.program.values import NAN, is_plain


class Lone:
    """Lone runs of one failure.

    Args:
        told: gets the lines
    """

    def __init__(self, told: Told) -> None:
        self._told = told
        self._n_runs = 0
        stepped = (isinstance(seen.call, Step | Train) for seen in told.failure.made)
        self._has_stepped = any(stepped)

    def logits(
        self,
        name: str,
        history: Sequence[int],
        n_prompt: int,
        number: Path,
        spare: str | None = None,
    ) -> None:
        """The newest logits get a name, or one of them.

        Args:
            name: ``due`` or ``came``
            history: tokens
            n_prompt: how many of them are prefilled
            number: which of the logits
            spare: what is put behind the prefix; what the judge puts there, if None
        """
        *lines, newest = self._run(history, n_prompt, spare)
        lines.append(f"{name} = {picked(f'{newest}.logits', number)}")
        self._told.attempt(name, lines, is_sure=bool(number))
        self._told.know_due()

    def rows(
        self,
        name: str,
        history: Sequence[int],
        n_prompt: int,
        place: Path,
        spare: str | None = None,
    ) -> None:
        """The same of the rows that are left; the place has keys and values in turn."""
        array, *number = place
        assert isinstance(array, int)
        lines = self._run(history, n_prompt, spare)
        part = "values" if array % 2 else "keys"
        rows = f"{self._run_name}.cache.layers[{array // 2}].{part}"
        self._told.draft.add(*lines, f"{name} = {picked(rows, number)}")
        self._told.know_due()

    @property
    def _run_name(self) -> str:
        return f"run_{self._n_runs - 1}" if self._n_runs > 1 else "run"

    def _run(
        self, history: Sequence[int], n_prompt: int, spare: str | None
    ) -> list[str]:
        """Lines, the last of which is what makes the newest row."""
        told, decoder = self._told, self._decoder()
        self._n_runs += 1
        if spare is None:
            spare = NAN if told.draft.fouls else ""
        made = f"{self._run_name} = KVCache({decoder}).bind({decoder})"
        told.draft.add(made)
        if spare:
            told.draft.add(f"{self._run_name}.cache.fill_spare({spare})")
        return list(_extended(self._run_name, history, n_prompt))

    def _decoder(self) -> str:
        """One of the same values; a thorough program's shares no parameter."""
        told = self._told
        if self._has_stepped and not told.has_begun:
            told.begin()
        if not told.has_begun:
            return "decoder"
        if not told.is_thorough and not self._has_stepped:
            return told.decoder
        if not self._n_runs:
            told.draft.add(*self._twin())
        return "twin"

    def _twin(self) -> Iterator[str]:
        weights = self._told.draft.script.weights
        if is_plain(weights) and not self._has_stepped:
            yield f"twin = Decoder.initialize(config, SplitMix64({weights.seed}))"
            return
        decoder = self._told.decoder
        yield f"copies = [Parameter(p.name, p.value) for p in {decoder}.parameters]"
        yield "twin = Decoder.from_parameters(config, copies)"


def _extended(run: str, history: Sequence[int], n_prompt: int) -> Iterator[str]:
    """The last line is an expression."""
    *prompt, prefill = tokens(f"{run}.prefill(", history[:n_prompt], ")")
    if prompt:  # it takes several lines, which are a statement
        yield from tokens("prompt = ", history[:n_prompt], "")
        prefill = f"{run}.prefill(prompt)"
    yield prefill
    *others, last = (prefill, *history[n_prompt:])
    decoded = others[1:]
    if len(decoded) > FEW:
        yield from tokens("for token_id in ", history[n_prompt:-1], ":")
        yield f"    {run}.decode(token_id)"
    else:
        yield from (f"{run}.decode({token_id})" for token_id in decoded)
    if others:
        yield f"{run}.decode({last})"
