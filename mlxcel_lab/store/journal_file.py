"""A journal as one parquet file: the events' table, their tokens, and before it what a bounded journal had folded."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl

from ..files import reading_parquet
from .event_table import KINDS, SCHEMA, to_frame
from .events import Event, Inserted, LookedUp
from .journal import Journal, Residents
from .token_column import from_column, to_column
from .types import Bucket, Ghost, TokenVector
from .wire import event_from_json

_FORMAT = 1


def write_journal(journal: Journal, path: Path) -> Path:
    """Write it; a snapshot that only the base state knows comes first, with `base` true."""
    base, first_seq, events = journal.picture()
    rows = [*base.entries.values(), *events]
    about = {
        "format": _FORMAT, "max_events": journal.max_events, "keep_tokens": journal.keep_tokens,
        "first_seq": first_seq, "settings": dict(base.settings),
        "hits": [[i, *h] for i, h in base.hits.items()],
    }  # fmt: skip
    frame = to_frame(rows).with_columns(
        to_column("tokens", [getattr(e, "tokens", None) for e in rows]),
        to_column("ghost_tokens", [_ghost_tokens(e) for e in rows]),
        pl.Series("base", [i < len(base.entries) for i in range(len(rows))], pl.Boolean),
        pl.Series("about", [json.dumps(about) if i == 0 else None for i in range(len(rows))], pl.String),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path)
    return path


def read_journal(path: Path) -> Journal:
    """Read it back; raises a ValueError for a file that isn't a journal's."""
    with reading_parquet(path):
        frame = pl.read_parquet(path)
    missing = [
        name for name in (*SCHEMA, "tokens", "ghost_tokens", "base", "about") if name not in frame.columns
    ]
    if missing:
        raise ValueError(f"{path} isn't a journal: column {missing[0]!r} is missing")
    about = json.loads(frame["about"][0]) if len(frame) else {}
    if about.get("format", _FORMAT) != _FORMAT:
        raise ValueError(f"{path} has journal format {about['format']}: this version reads {_FORMAT}")
    journal = Journal(about.get("max_events"), about.get("keep_tokens", True))
    vectors = [from_column(frame[name]) for name in ("tokens", "ghost_tokens")]
    rows = frame.drop("tokens", "ghost_tokens").iter_rows(named=True)
    events = [
        _event({**row, "tokens": t, "ghost_tokens": g}) for row, t, g in zip(rows, *vectors, strict=True)
    ]
    split = int(frame["base"].sum())
    entries = {e.snapshot_id: e for e in events[:split] if isinstance(e, Inserted)}
    hits = {int(i): (int(n), float(at)) for i, n, at in about.get("hits", [])}
    journal.restore(
        Residents(entries, hits, about.get("settings", {})), about.get("first_seq", 0), events[split:]
    )
    return journal


def _ghost_tokens(event: Event) -> TokenVector | None:
    return event.ghost.tokens if isinstance(event, LookedUp) and event.ghost else None


def _event(row: dict[str, Any]) -> Event:
    """The row's cells under the names that `wire` reads, of the fields that an event of its kind has."""
    kind = row["kind"]
    if kind not in _FIELDS:
        raise ValueError(f"kind={kind!r}: expected one of {', '.join(_FIELDS)}")
    key = None
    if row["model_id"] is not None:
        key = {"bucket": {name: row[name] for name in _BUCKET}, "session": row["session"]}
    data = None if row["data"] is None else json.loads(row["data"])
    cells = {**row, "key": key, "ghost": _ghost(row, key), "reason": row["cause"], "data": data}
    return event_from_json({"kind": kind, **{name: cells[name] for name in _FIELDS[kind]}})


def _ghost(row: dict[str, Any], key: Any) -> dict[str, Any] | None:
    if row["ghost_cause"] is None:
        return None
    return {**{name: row.get(f"ghost_{name}") for name in _GHOST}, "key": key, "at": row["ghost_time"]}


_FIELDS = {kind: [f.name for f in fields(type_)] for type_, kind in KINDS.items()}
_GHOST = [f.name for f in fields(Ghost)]
_BUCKET = [f.name for f in fields(Bucket)]
