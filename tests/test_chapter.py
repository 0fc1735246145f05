"""The chapter's report equals the recording, and is able not to."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine import (
    Decoder,
    DecoderSession,
    Generation,
    GenerationRequest,
    KVCache,
    SessionClosed,
    SplitMix64,
    StepOutput,
    generate,
    load,
)
from properties import chapter, restored
from properties.report import report, trace

GOLDEN = Path(__file__).parent / "golden" / "fixture.json"
RECORDED = json.loads(GOLDEN.read_text())
RESTORED = Path(restored.__file__).with_name("restored.safetensors")


def recorded(text: str) -> list[str]:
    """A recorded text, for our own file instead of the original's."""
    own = f"\\g<1>{RESTORED.stat().st_size}"
    return re.sub(r"(checkpoint_bytes[:=])6330", own, RECORDED[text]).splitlines()


def test_report_equals_the_recording() -> None:
    assert report(chapter.run_chapter()).splitlines() == recorded("report")


def test_trace_equals_the_recording() -> None:
    assert trace(chapter.run_chapter()).splitlines() == recorded("trace")


@pytest.mark.parametrize(("options", "text"), [([], "report"), (["--trace"], "trace")])
def test_command_prints_the_recording(options: list[str], text: str) -> None:
    command = [sys.executable, "-m", "properties", "report", *options]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)

    assert printed.stdout.splitlines() == recorded(text)


def test_restored_file_holds_the_recorded_figures() -> None:
    loaded = load(RESTORED)
    figures = RECORDED["restored"]

    assert loaded.rng is not None
    assert loaded.rng.state == int(figures["rng_state"], 16)
    assert loaded.optimizer is None
    assert tuple(figures["tokenizer_pieces"]) == restored.PIECES
    for parameter, figure in zip(
        loaded.decoder.parameters, figures["parameters"], strict=True
    ):
        values = np.array([float(value) for value in figure["values"]])
        assert parameter.name == figure["name"]
        assert parameter.value.tobytes() == values.tobytes()


def report_line(subject: str) -> str:
    """The line of a report that is made now."""
    lines = report(chapter.run_chapter()).splitlines()
    return next(line for line in lines if line.startswith(f"{subject}="))


def test_report_sees_blocks_that_share_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = property(lambda cache: ((1, 2),) * len(cache.layers))
    monkeypatch.setattr(KVCache, "storage_ids", shared)

    assert "layer_storage_distinct:false" in report_line("work")


def test_report_sees_a_reset_that_touches_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DecoderSession.reset

    def reset(session: DecoderSession) -> None:
        honest(session)
        session.cache.fill_spare(0.5)

    monkeypatch.setattr(DecoderSession, "reset", reset)

    assert "storage_unchanged:false" in report_line("reset")


def test_report_sees_a_refusal_of_the_wrong_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.session.CacheFull", lambda _: SessionClosed())

    assert "overflow:false" in report_line("errors")


def test_report_sees_a_refusal_that_leaves_a_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def decode(session: DecoderSession, token_id: int) -> StepOutput:
        session.cache.fill_spare(0.5)
        return honest(session, token_id)

    honest = DecoderSession.decode
    monkeypatch.setattr(DecoderSession, "decode", decode)

    assert "unchanged:false" in report_line("errors")


def test_report_sees_a_draw_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    def generate_and_draw(
        decoder: Decoder,
        prompt: tuple[int, ...],
        request: GenerationRequest,
        rng: SplitMix64,
    ) -> Generation:
        generation = generate(decoder, prompt, request, rng)
        rng.draws(1)
        return generation

    monkeypatch.setattr(restored, "generate", generate_and_draw)

    assert "tokens_match:true rng_match:false" in report_line("loaded")


def test_report_sees_other_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = np.ones(chapter.CONFIG.head_dim // 2, dtype=np.complex128)
    monkeypatch.setattr("engine.row.rotation", lambda *_: unit)

    with pytest.raises(AssertionError):
        chapter.run_chapter()
