"""One call for every format: recognise it, read it, and put its requests in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import polars as pl

from ...files import reading_parquet
from ..interner import Interner
from ..replies import assumed, check_replies, replied
from ..storage import KEY, read_trace_file
from ..trace import Problem, Request, Trace, trace_from
from . import blocks, messages
from .journals import journal
from .lines import Records

_BLOCKS: dict[str, tuple[Callable[..., Iterator[Request]], int]] = {
    "coding-agent": (blocks.coding_agent, 64),
    "mooncake": (blocks.mooncake, 512),
    "bailian": (blocks.bailian, 16),
}
_MESSAGES: dict[str, Callable[..., Iterator[tuple[int, messages.Conversation]]]] = {
    "openai": messages.openai,
    "tau-bench": messages.tau_bench,
    "mt-bench": messages.mt_bench,
}
FORMATS = (*_BLOCKS, *_MESSAGES, "journal", "trace")
_ASSUMED = {
    "coding-agent": "sessions begin at seeded random times; the file has no common clock",
    "mooncake": "sessions inferred by prefix: a request goes on from the session whose last prompt it holds deepest",
    "mt-bench": "the answers are made up; the file has none",
    "openai": "a prompt is what stands before each assistant message",
    "tau-bench": "conversations ask at regular times; the file has none",
}


def read_trace(
    path: str | Path,
    format: str | None = None,
    *,
    replies: str = "by_turn",
    renderer: messages.Renderer | None = None,
    limit: int | None = None,
    **options: Any,
) -> Trace:
    """Read a file into a trace.

    `format`: one of `FORMATS`; None recognises it. `replies`: what completions hold where the file has only hashed
    prompts, one of `replies.REPLIES`. `renderer`: how messages become tokens; None takes the lab's own tokenizer and
    template. `limit` stops after so many requests. `options` are the reader's own. What can't be read lands, counted
    and with its line, in the trace's `problems`.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path} isn't there: expected a trace file")
    format = format or sniff(path)
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}: expected one of {', '.join(FORMATS)}")
    if format == "trace":
        return _limited(read_trace_file(path), limit)
    if format == "journal":
        return _read_journal(path, limit)
    _check_options(format, options)
    records = Records(path)
    if format in _MESSAGES:
        return _read_messages(records, format, renderer, limit, options)
    reader, unit = _BLOCKS[format]
    check_replies(replies)
    requests = sorted(_first(reader(records, **options), limit), key=lambda request: request.time)
    told = [_ASSUMED[name] for name in (format,) if name in _ASSUMED]
    trace = trace_from(
        path.name, replied(requests, unit, replies), tokens_per_id=unit, assumptions=(*told, assumed(replies))
    )
    return _with_problems(trace, records.problems)


def _read_messages(
    records: Records,
    format: str,
    renderer: messages.Renderer | None,
    limit: int | None,
    options: dict[str, Any],
) -> Trace:
    own = {name: options.pop(name) for name in [*options] if name in signature(_MESSAGES[format]).parameters}
    interner = Interner()
    talks = _MESSAGES[format](records, **own)
    made = messages.rendered(records, talks, renderer or _lab_renderer(), interner, **options)
    trace = trace_from(records.path.name, _first(made, limit), assumptions=(_ASSUMED[format],))
    return _with_problems(trace, records.problems, interner)


def _read_journal(path: Path, limit: int | None) -> Trace:
    problems: list[Problem] = []
    interner = Interner()
    trace = trace_from(path.name, _first(journal(path, problems, interner), limit))
    return _with_problems(trace, problems, interner)


def _with_problems(trace: Trace, problems: list[Problem], interner: Interner | None = None) -> Trace:
    pool = None if interner is None else interner.pool()
    return Trace(trace.name, trace.requests, trace.tokens_per_id, pool, tuple(problems), trace.assumptions)


def _limited(trace: Trace, limit: int | None) -> Trace:
    return trace if limit is None else trace.head(limit)


def _first(requests: Iterator[Request], limit: int | None) -> Iterator[Request]:
    for number, request in enumerate(requests):
        if number == limit:
            return
        yield request


def _check_options(format: str, options: dict[str, Any]) -> None:
    readers: list[Callable[..., Any]] = (
        [_BLOCKS[format][0]] if format in _BLOCKS else [_MESSAGES[format], messages.rendered]
    )
    known = [
        name
        for reader in readers
        for name, p in signature(reader).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    ]
    for name in options:
        if name not in known:
            raise TypeError(f"{format} traces have no option {name!r}: expected one of {', '.join(known)}")


def _lab_renderer() -> messages.Renderer:
    from ...engine.models import load_lab_tokenizer
    from .rendering import TokenizerRenderer

    return TokenizerRenderer(load_lab_tokenizer(), "lab, plain")


def sniff(path: Path) -> str:
    """The format of a file, by its content. ValueError where it looks like none."""
    if path.suffix == ".parquet":
        with reading_parquet(path):
            return "trace" if KEY in pl.read_parquet_metadata(path) else "journal"
    for _, record in Records(path):
        keys = set(record) if isinstance(record, dict) else set()
        for format, needed in _MARKS.items():
            if needed <= keys:
                return format
        if messages.holds_messages(record):
            return "openai"
        break
    raise ValueError(f"{path} looks like none of {', '.join(FORMATS)}: name its format")


_MARKS = {
    "coding-agent": {"requests", "block_size"},
    "bailian": {"chat_id", "parent_chat_id", "hash_ids"},
    "mooncake": {"timestamp", "input_length", "hash_ids"},
    "tau-bench": {"traj"},
    "mt-bench": {"turns", "question_id"},
}
