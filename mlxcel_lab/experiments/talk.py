"""Conversations from data/conversations, held with an engine, and what the store holds after each turn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..engine import DryModel, Engine, LabModel, Turn
from ..paths import data_dir
from .stores import open_store
from .thrash import row


@dataclass(frozen=True, slots=True)
class Line:
    """What one session says next, and the reply where the model has none of its own; `again`: the last request anew."""

    session: str
    user: str = ""
    reply: str = ""
    again: bool = False


def conversation(name: str) -> list[Line]:
    """The lines of data/conversations/<name>.json, in the order in which they are said.

    Files of messages lie beside those of lines: `read_conversations` reads them. Any other name raises a ValueError.
    """
    folder = data_dir() / "conversations"
    if (lines := _lines(folder / f"{name}.json")) is None:
        known = ", ".join(path.stem for path in sorted(folder.glob("*.json")) if _lines(path) is not None)
        raise ValueError(f"{name!r} is no conversation in lines: expected one of {known}")
    return [Line(**line) for line in lines]


def _lines(path: Path) -> list[dict[str, Any]] | None:
    """None where there is no such file, or where it holds something else."""
    return json.loads(path.read_text(encoding="utf-8")).get("lines") if path.is_file() else None


def hold(engine: Engine, lines: Sequence[Line], max_tokens: int, **options: Any) -> Iterator[Turn]:
    """Hold those conversations, turn by turn. A dry model speaks the lines' replies, any other for itself, greedily.

    `options`: further ones of `Engine.chat`, the same for every turn.
    """
    histories: dict[str, list[dict[str, str]]] = {}
    request: list[dict[str, str]] = []
    for line in lines:
        history = histories.setdefault(line.session, [])
        if not line.again:
            request = [*history, {"role": "user", "content": line.user}]
            reply = line.reply if isinstance(engine.model, DryModel) else None
        turn = engine.chat(request, line.session, max_tokens, reply=reply, **options)
        histories[line.session] = [*request, {"role": "assistant", "content": turn.text}]
        yield turn


def converse(engine: Engine, lines: Sequence[Line], max_tokens: int, **options: Any) -> pl.DataFrame:
    """`hold` to the end; one row a turn, as `thrash.play` gives them."""
    return pl.DataFrame([_row(engine, turn) for turn in hold(engine, lines, max_tokens, **options)])


def _row(engine: Engine, turn: Turn) -> dict[str, Any]:
    stored = turn.prompt_tokens + turn.completion_tokens
    return row(engine.store, str(turn.session), turn.prompt_tokens, turn.cached_tokens, stored)


def table(turns: Sequence[Turn], **labels: Any) -> pl.DataFrame:
    """One row a turn: the labels, its tokens by part, the outcome in words, and milliseconds to the first token."""
    rows = [
        {
            **labels, "turn": number, "prompt": turn.prompt_tokens, "cached": turn.cached_tokens,
            "prefilled": turn.prompt_tokens - turn.cached_tokens, "reply": turn.completion_tokens,
            "outcome": turn.reason, "ms_to_first_token": round(turn.seconds_to_first_token * 1000, 1),
        }
        for number, turn in enumerate(turns, 1)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def largest_snapshot(
    model: LabModel | DryModel, lines: Sequence[Line], max_tokens: int, **options: Any
) -> int:
    """The bytes of the largest snapshot that those conversations leave behind, measured by holding them once."""
    store = open_store("off", 2**62, boundary=False)
    converse(Engine(model, store), lines, max_tokens, **options)
    return max(entry.snapshot.size_bytes for entry in store.entries())
