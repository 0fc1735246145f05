"""The chapter's two texts: the learner's report, and the trace behind its diagram."""

from collections.abc import Iterable, Mapping

from engine.arrays import Array
from properties import restored
from properties.chapter import (
    CONFIG,
    DECODED,
    PROMPT,
    TOLERANCE,
    Chapter,
    Phase,
)

_LANES = CONFIG.n_layers * CONFIG.n_heads


def report(chapter: Chapter) -> str:
    """The learner's report, one line a subject."""
    prefill, decode = chapter.prefill, chapter.decode
    distinct = _truths({"layer_storage_distinct": chapter.storage_is_distinct})
    lines = [
        "chapter=38-cached-generation",
        f"config={_joined(_report_config(), ' ', ':')}",
        f"prefill=prompt:{_list(PROMPT)} {_phase(prefill)}",
        f"decode=token:{DECODED} position:{decode.output.position} {_phase(decode)}",
        f"work={_joined({**_work(chapter), **distinct}, ' ', ':')}",
        f"loaded={_joined(_loaded(chapter.restored), ' ', ':')}",
        f"eos={_joined(_eos(chapter.restored.eos_run), ' ', ':')}",
        f"reset={_joined(_reset(chapter), ' ', ':')}",
        f"errors={_joined(_truths(chapter.refusals), ' ', ':')}",
        f"history={_joined(_history(chapter), ' ', ':')}",
        "next=assemble the complete end-to-end LLM pipeline",
    ]
    return "\n".join(lines) + "\n"


def trace(chapter: Chapter) -> str:
    """The trace behind the diagram, one event a line."""
    prefill, decode = chapter.prefill, chapter.decode
    lines = [
        "CACHED_GENERATION_TRACE_V1",
        f"CONFIG|{_joined(_trace_config(), '|', '=')}",
        f"PREFILL|prompt={_list(PROMPT)}|{_joined(_prefill(prefill), '|', '=')}",
        *_layer_lines("prefill", prefill, chapter),
        _match("prefill", prefill),
        f"DECODE|token={DECODED}|{_joined(_decode(decode), '|', '=')}",
        *_layer_lines("decode", decode, chapter),
        _match("decode", decode),
        f"WORK|{_joined({**_work(chapter), **_formulas(chapter)}, '|', '=')}",
        f"LOADED|{_joined(_loaded(chapter.restored), '|', '=')}",
        f"EOS|{_joined(_eos(chapter.restored.eos_run), '|', '=')}",
        f"RESET|{_joined(_reset(chapter), '|', '=')}",
        f"ERRORS|{_joined(_truths(chapter.refusals), '|', '=')}",
        f"HISTORY|{_joined(_history(chapter), '|', '=')}",
        "END|next=end-to-end-llm",
    ]
    return "\n".join(lines) + "\n"


def _phase(phase: Phase) -> str:
    return (
        f"cache:{phase.length_before}->{phase.output.length} "
        f"layer_lengths:{_list(phase.layer_lengths)} shape:{_list(phase.shape)} "
        f"cached_scores:{phase.cached_scores} "
        f"complete_prefix_scores:{phase.replayed.attention_scores} "
        f"max_abs_diff:{phase.max_abs_diff:.12f} logits:{_floats(phase.output.logits)}"
    )


def _report_config() -> dict[str, object]:
    return {
        "layers": CONFIG.n_layers,
        "heads": CONFIG.n_heads,
        "model_width": CONFIG.d_model,
        "context": CONFIG.capacity,
        "tolerance": f"{TOLERANCE:.12f}",
    }


def _trace_config() -> dict[str, object]:
    return {
        "layers": CONFIG.n_layers,
        "heads": CONFIG.n_heads,
        "model_width": CONFIG.d_model,
        "head_width": CONFIG.head_dim,
        "capacity": CONFIG.capacity,
        "tolerance": f"{TOLERANCE:.12f}",
    }


def _prefill(phase: Phase) -> dict[str, object]:
    return {
        **_lengths(phase),
        "positions": _list(range(phase.length_before, phase.output.length)),
        **_shapes(phase),
    }


def _decode(phase: Phase) -> dict[str, object]:
    return {"position": phase.output.position, **_lengths(phase), **_shapes(phase)}


def _lengths(phase: Phase) -> dict[str, object]:
    return {"cache_before": phase.length_before, "cache_after": phase.output.length}


def _shapes(phase: Phase) -> dict[str, object]:
    lengths, shape = _list(phase.layer_lengths), _list(phase.shape)
    return {"layer_lengths": lengths, "cache_shape": shape}


def _layer_lines(name: str, phase: Phase, chapter: Chapter) -> list[str]:
    storage = "distinct" if chapter.storage_is_distinct else "shared"
    return [
        f"LAYER|phase={name}|layer={layer}|cache_len={length}"
        f"|shape={_list(phase.shape)}|storage={storage}"
        for layer, length in enumerate(phase.layer_lengths)
    ]


def _match(name: str, phase: Phase) -> str:
    agrees = "MATCH" if phase.max_abs_diff <= TOLERANCE else "DIFFER"
    return (
        f"{agrees}|phase={name}|cached={_floats(phase.output.logits)}"
        f"|complete_prefix={_floats(phase.replayed.logits[-1])}"
        f"|cached_scores={phase.cached_scores}"
        f"|complete_prefix_scores={phase.replayed.attention_scores}"
        f"|max_abs_diff={phase.max_abs_diff:.12f}"
    )


def _work(chapter: Chapter) -> dict[str, object]:
    work = chapter.work
    return {
        "prefill_tokens": work.prefill_tokens,
        "decode_tokens": work.decode_tokens,
        "layer_caches": len(chapter.prefill.layer_lengths),
        "cache_appends": work.cache_appends,
        "qkv_rows": work.qkv_projection_rows,
        "cached_scores": work.attention_scores,
        "complete_prefix_scores": chapter.replayed_scores,
    }


def _formulas(chapter: Chapter) -> dict[str, object]:
    cached = "+".join(str(length) for length in _cached_lengths(chapter))
    replayed = "+".join(f"{length}^2" for length in _replayed_lengths(chapter))
    return {
        "formula_cached": f"{_LANES}*({cached})",
        "formula_complete": f"{_LANES}*({replayed})",
    }


def _loaded(loaded: restored.Restored) -> dict[str, object]:
    run = loaded.context_run
    cached = run.cached
    return {
        "checkpoint_bytes": loaded.file_bytes,
        "context_capacity": loaded.capacity,
        "rng_state": f"{loaded.rng_state:#018x}",
        "prompt": _list(restored.PROMPT),
        "generated": _list(cached.generated),
        "text": run.text,
        "prefixes": _list(step.prefix_length for step in cached.steps),
        "stop": cached.stop,
        "final_cache": cached.final_length,
        "prefill_tokens": cached.work.prefill_tokens,
        "decode_tokens": cached.work.decode_tokens,
        "cached_scores": cached.work.cached_attention_scores,
        "complete_prefix_scores": cached.work.replayed_attention_scores,
        **_matches(run),
    }


def _eos(run: restored.Run) -> dict[str, object]:
    cached = run.cached
    return {
        "token": cached.generated[-1],
        "generated": _list(cached.generated),
        "stop": cached.stop,
        "final_cache": cached.final_length,
        "decode_tokens": cached.work.decode_tokens,
        **_matches(run),
    }


def _matches(run: restored.Run) -> dict[str, str]:
    return _truths({"tokens_match": run.tokens_match, "rng_match": run.rng_matches})


def _reset(chapter: Chapter) -> dict[str, object]:
    return {
        "before": chapter.length_before_reset,
        "after": chapter.length_after_reset,
        **_truths(chapter.reset),
    }


def _history(chapter: Chapter) -> dict[str, object]:
    cached, replayed = chapter.work.attention_scores, chapter.replayed_scores
    return {
        "lanes": _LANES,
        "cached_lengths": _list(_cached_lengths(chapter)),
        "cached_scores": cached,
        "complete_prefix_lengths": _list(_replayed_lengths(chapter)),
        "complete_prefix_scores": replayed,
        "avoided_scores": replayed - cached,
    }


def _cached_lengths(chapter: Chapter) -> range:
    """Every retained length of the serial rows."""
    return range(1, chapter.work.token_forwards + 1)


def _replayed_lengths(chapter: Chapter) -> list[int]:
    return [len(phase.replayed.logits) for phase in (chapter.prefill, chapter.decode)]


def _joined(fields: Mapping[str, object], between: str, equals: str) -> str:
    return between.join(f"{name}{equals}{value}" for name, value in fields.items())


def _truths(facts: Mapping[str, bool]) -> dict[str, str]:
    return {name: _truth(fact) for name, fact in facts.items()}


def _truth(fact: bool) -> str:  # noqa: FBT001 # printed, not a switch
    return "true" if fact else "false"


def _list(items: Iterable[object]) -> str:
    return f"[{','.join(str(item) for item in items)}]"


def _floats(values: Array) -> str:
    return _list(f"{value:.9f}" for value in values)
