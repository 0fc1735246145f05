"""Mutants whose failures lie at every kind of place that a law compares."""

from typing import Final

from properties.calls import (
    BindRebuilt,
    Close,
    Copy,
    Decode,
    Flaw,
    Generate,
    NewDecoder,
    Prefill,
    Reset,
    Restore,
    Sampling,
    Step,
)
from tests.judged import GROWS
from tests.planned import fault
from tests.programs import MOVED, mutant, then

OUTPUT = "output = StepOutput(newest.logits, position, length, scores)"
LOADED = "return Moment(name, expected, first.tobytes(), second.tobytes(), dtype)"
JUDGED = "self._evidence.require_same(decoder)"
ADOPTED = "known, self._evidence = self._evidence, Evidence.of(decoder)\n"
STEPPED = (Close(), Step())
DRAWN = Generate(prompt=(0,), sampling=Sampling(temperature=1.0, k=5), rng_state=1)

PLACES: Final = {
    "copy bits": mutant(
        "E2",
        "cache",
        then(
            "copy._prefix = self._prefix.copy()",
            "copy._prefix.restore(0, 0.5)",
        ),
        (*GROWS, Copy()),
    ),
    "copy evidence": mutant(
        "E2",
        "cache",
        (
            "copy._evidence = self._evidence",
            "copy._evidence = self._evidence._replace(revisions=())",
        ),
        (Copy(),),
    ),
    "engine caches evidence": mutant(
        "R1",
        "cache",
        (JUDGED, ADOPTED + JUDGED.replace("self._evidence", "known")),
        (Close(), BindRebuilt(rebuilt=(0,))),
    ),
    "engine caches work": mutant(
        "R1",
        "session",
        then(
            "if state.length == config.capacity:",
            "    prefix.state = state._replace(work=decode_work(config, 0))",
        ),
        (Prefill(prompt=(0, 1, 2, 3)), Decode(token_id=0)),
    ),
    "engine optimizer moments first": mutant(
        "E3",
        "serialization",
        (LOADED, LOADED.replace("first.tobytes()", "second.tobytes()")),
        (*STEPPED, Restore()),
    ),
    "engine optimizer step": mutant(
        "E3",
        "checkpoint",
        (
            "snapshot = None if optimizer is None else optimizer.snapshot()",
            "snapshot = AdamW(optimizer.config).snapshot()",
        ),
        (*STEPPED, Restore()),
    ),
    "engine parameters": mutant(
        "R1",
        "optimizer",
        then(
            "if borrowed or changed:",
            "    parameters[0]._held = held[0]._replace(revision=3)",
        ),
        (NewDecoder(rebuilt=(0, 1)), Step()),
    ),
    "engine caches bits": mutant(  # which are NaN before
        "S3",
        "session",
        then("self._prefix.state = State(0, Work())", "self._prefix.fill_spare(0.0)"),
        (Reset(),),
    ),
    "loaded": mutant(
        "E3",
        "serialization",
        (
            "return stored.astype(native)  # the machine's own byte order",
            "return stored.astype('float32').astype(native)",
        ),
        (Restore(),),
    ),
    "generation": mutant(
        "P6",
        "generation",
        ("return steps, TOKEN_LIMIT", "return steps, EOS"),
        (Generate(prompt=(0,)),),
    ),
    "generator": mutant(
        "P6",
        "generation",
        ("rng.state = stream.state", "rng.state = stream.state + 1"),
        (Generate(prompt=(0,)),),
    ),
    "choices": mutant(
        "P6",
        "sampling",
        (
            "return Choice(token_id, unit, start, end)",
            "return Choice(token_id, unit, start, end + 0.25)",
        ),
        (DRAWN,),
    ),
    "length": mutant(
        "S1",
        "cache",
        (
            "LayerRows(keys[:, :length].copy(), values[:, :length].copy(), length)",
            "LayerRows(keys[:, :length].copy(), values[:, :length].copy(), 7)",
        ),
        GROWS,
    ),
    "logits dtype": mutant(
        "P1",
        "session",
        (OUTPUT, OUTPUT.replace("newest.logits", "newest.logits.astype('float32')")),
        GROWS,
    ),
    "logits shape": mutant(
        "P1",
        "session",
        (OUTPUT, OUTPUT.replace("newest.logits", "newest.logits[1:]")),
        GROWS,
    ),
    "no logits": mutant(
        "P1",
        "session",
        (OUTPUT, OUTPUT.replace("newest.logits", "newest.logits.tolist()")),
        GROWS,
    ),
    "rows dtype": mutant(
        "P2",
        "cache",
        (
            "LayerRows(keys[:, :length].copy(), values[:, :length].copy(), length)",
            "LayerRows(keys[:, :length].astype('f4'), values[:, :length], length)",
        ),
        GROWS,
    ),
    "rows values": mutant(
        "P2",
        "row",
        then(
            "mixture = np.matmul(weights, rows.values[:, :length])",
            "rows.values[:, 0] *= 1 + 1e-8 * (self.position == 2)",
        ),
        (Prefill(prompt=(0, 1, 2)),),
    ),
    "moments": mutant(
        "B5",
        "adamw",
        (
            "return weight - step - decay, first, second",
            "return weight - step - decay, first, 2 * second",
        ),
        STEPPED,
    ),
    "steps": mutant(
        "B5",
        "optimizer",
        (
            "replaced.append(Held.copy_of(weight, value.revision + 1))",
            "replaced.append(Held.copy_of(weight, value.revision + 2))",
        ),
        STEPPED,
    ),
    "outcome": mutant(  # whose reason is not compared
        "R2",
        "optimizer",
        ("if len(gradients) != len(names):", "if len(gradients) > len(names):"),
        (Close(), Step(flaw=Flaw(kind="missing"))),
    ),
    "split": mutant(
        "P3",
        "session",
        then(
            "row = self._row(weights, token, state.length)",
            f"prefix.blocks[1].values[:, 3:] *= {MOVED}",
        ),
        (Prefill(prompt=(0, 1)), Decode(token_id=1)),
    ),
    "spare": mutant(
        "P5",
        "row",
        then(
            "new_rows = self.prefix.bits_at(self.position).reshape(-1)",
            "if self.position == 2 and np.isnan(self.prefix.bits_at(3)).all():",
            f"    self.prefix.blocks[0].keys[:, 2] *= {MOVED}",
        ),
        (Prefill(prompt=(0,)),),
    ),
    "written outside": mutant(
        "E1",
        "parameters",
        (
            "return cls(array.tobytes(), array.shape, array.dtype.str, revision)",
            "return cls(bytearray(array.tobytes()), array.shape, array.dtype.str, 0)",
        ),
        (),
    ),
    "raised": mutant(
        "A1",
        "row",
        (
            "raise StageFailed(stage, layer) from error",
            "raise StageFailed(stage, layer) from type(error)()",
        ),
        GROWS,
        (fault(1, 9),),
    ),
}
"""By words of the place."""
