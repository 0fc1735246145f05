"""Many sessions on one decoder, in many threads, while others try optimizer steps.

No step changes a weight under an open session. So the revision that a session sees
tells all of its weights, and a decoder that has the same steps behind it, and no other
thread, tells all of its bits.
"""

from collections import Counter
from functools import partial
from secrets import randbelow, randbits
from time import sleep
from typing import Final, NamedTuple

from engine import (
    AdamW,
    AdamWConfig,
    Decoder,
    EngineError,
    Generation,
    KVCache,
    ParameterBorrowed,
    ParameterInStep,
    ParameterRevisionMismatch,
    SplitMix64,
    generate,
)
from engine.arrays import Array
from properties.calls import Step
from properties.drawn import gradients
from properties.inconsistency import Inconsistent, require_alike
from properties.lives import CHOICE, CONFIG, decoder_of, held, new_decoder, told
from properties.threads.together import give_way, run_together

N_READERS: Final = 3
N_STEPPERS: Final = 2
N_TRIES: Final = 10  # of a thread, before all of them are looked at
MOST: Final = 20
"""Meetings for each that was asked for, until enough was taken and refused."""

_MOST_MICROSECONDS: Final = 2_000  # between two steps, which let no session begin
_SMALL_STEP: Final = AdamWConfig(
    learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.1
)
"""All steps have the same gradients, since nobody knows which of them comes first."""


class Read(NamedTuple):
    """What a session gave while it saw one revision of every parameter."""

    revision: int
    tokens: tuple[int, ...]
    outputs: tuple[object, ...]


class Generated(NamedTuple):
    """What a generation gave that saw one of some revisions."""

    revisions: range
    seed: int
    generation: Generation
    state: int


class Trained:
    """A decoder, and the steps that were taken on it."""

    def __init__(self, decoder: Decoder, slopes: tuple[Array, ...]) -> None:
        self.decoder = decoder
        self.optimizer = AdamW(_SMALL_STEP)
        self._slopes = slopes

    def step(self) -> int:
        """Replace every weight."""
        return self.optimizer.step(self.decoder.parameters, self._slopes)

    def revision(self) -> int:
        """The one that all parameters have, while no step is taken."""
        revisions = {each.revision for each in self.decoder.parameters}
        if len(revisions) > 1:
            raise Inconsistent(f"a session sees the revisions {sorted(revisions)}")
        return revisions.pop()

    def read(self, tokens: tuple[int, ...], *, slowly: bool = False) -> Read:
        """Prefill with the first token, decode the others, and close."""
        cache = KVCache(self.decoder)
        with cache.bind(self.decoder, give_way if slowly else None) as session:
            revision = self.revision()
            outputs = [told(session.prefill(tokens[:1]))]
            outputs.extend(told(session.decode(each)) for each in tokens[1:])
            if self.revision() != revision:
                raise Inconsistent("a step was taken while a session was open")
        return Read(revision, tokens, tuple(outputs))

    def generate(self, seed: int) -> Generated:
        """Generate from a token, and tell which revisions it may have seen."""
        rng, before = SplitMix64(seed), self.decoder.parameters[0].revision
        generation = generate(self.decoder, [0], CHOICE, rng)
        after = self.decoder.parameters[0].revision
        return Generated(range(before, after + 1), seed, generation, rng.state)


class Crowd:
    """Threads that read one decoder, and threads that step it."""

    def __init__(self) -> None:
        decoder = new_decoder()
        shapes = tuple(each.value.shape for each in decoder.parameters)
        slopes = gradients(Step(seed=randbits(64)), shapes)
        self.counts = Counter[str]()
        self._trained = Trained(decoder, slopes)
        self._alone = Trained(decoder_of(decoder.weights), slopes)

    def meet(self) -> None:
        """Read and step at once, then look at all that it gave."""
        reads: list[Read] = []
        generated: list[Generated] = []
        steps: list[int] = []
        refusals: list[EngineError] = []
        before = self._trained.revision()
        read_often = partial(self._read_often, reads, generated, refusals)
        step_often = partial(self._step_often, steps, refusals)
        run_together(*[read_often] * N_READERS, *[step_often] * N_STEPPERS)

        due = list(range(before + 1, self._trained.revision() + 1))
        require_alike("the steps that were taken", due, sorted(steps))
        self._explain(reads, generated)
        self.counts["sessions"] += len(reads) + len(generated)
        self.counts["answers"] += sum(len(read.outputs) for read in reads)
        self.counts["answers"] += len(generated)
        steps_refused = sum(isinstance(each, ParameterBorrowed) for each in refusals)
        self.counts["steps_taken"] += len(steps)
        self.counts["steps_refused"] += steps_refused
        self.counts["sessions_refused"] += len(refusals) - steps_refused

    def _read_often(
        self,
        reads: list[Read],
        generated: list[Generated],
        refusals: list[EngineError],
    ) -> None:
        for _ in range(N_TRIES):
            n_tokens = randbelow(CONFIG.capacity + 1)
            tokens = tuple(randbelow(CONFIG.vocab_size) for _ in range(n_tokens))
            try:
                if tokens:
                    reads.append(self._trained.read(tokens, slowly=n_tokens % 2 == 0))
                else:
                    generated.append(self._trained.generate(randbits(64)))
            except (ParameterInStep, ParameterRevisionMismatch) as refusal:
                refusals.append(refusal)

    def _step_often(self, steps: list[int], refusals: list[EngineError]) -> None:
        for _ in range(N_TRIES):
            try:
                steps.append(self._trained.step())
            except ParameterBorrowed as refusal:
                refusals.append(refusal)
            sleep(randbelow(_MOST_MICROSECONDS) / 1e6)

    def _explain(self, reads: list[Read], generated: list[Generated]) -> None:
        """Take the same steps alone, and the same sessions between them."""
        alone = self._alone
        while True:
            revision = alone.revision()
            for read in reads:
                if read.revision == revision:
                    require_alike("a session", alone.read(read.tokens), read)
            generated = [
                each
                for each in generated
                if revision not in each.revisions
                or alone.generate(each.seed)[2:] != each[2:]
            ]
            if revision == self._trained.revision():
                break
            alone.step()
        if generated:
            raise Inconsistent(f"no revision alone gives {generated[0]}")
        values = held(alone.decoder), alone.optimizer.snapshot()
        came = held(self._trained.decoder), self._trained.optimizer.snapshot()
        require_alike("after all steps", values, came)


def hunt_on_one_decoder(n_rounds: int) -> Counter[str]:
    """Let sessions and steps meet on one decoder, and look at all that they gave.

    Args:
        n_rounds: tries of each thread, at least

    Returns:
        ``sessions``, ``answers`` that were compared, ``sessions_refused``,
        ``steps_taken`` and ``steps_refused``.

    Raises:
        Inconsistent: a step changed what a session read, or was lost; or they met too
            seldom.
    """
    crowd = Crowd()
    n_meetings = -(-n_rounds // N_TRIES)
    for n_done in range(1, MOST * n_meetings + 1):
        crowd.meet()
        met = ("sessions", "steps_taken", "steps_refused")
        least = min(crowd.counts[each] for each in met)
        if n_done >= n_meetings and least >= n_meetings:
            return crowd.counts
    raise Inconsistent(f"sessions and steps met too seldom: {dict(crowd.counts)}")
