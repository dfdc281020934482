"""A journal as one parquet file: the events' table, their tokens, and before it what a bounded journal had folded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from .event_table import SCHEMA, to_frame
from .events import Event, Inserted, LookedUp, Note, Rejected, Removed
from .journal import Journal, Residents
from .token_column import from_column, to_column
from .types import Bucket, CacheKey, Ghost, Origin, RejectReason, RemovalCause, TokenVector

_FORMAT = 1


def write_journal(journal: Journal, path: Path) -> Path:
    """Write it; a snapshot that only the base state knows comes first, with `base` true."""
    base, events = journal.base, [*journal]
    rows = [*base.entries.values(), *events]
    about = {
        "format": _FORMAT, "max_events": journal.max_events, "keep_tokens": journal.keep_tokens,
        "first_seq": journal.first_seq, "settings": dict(base.settings),
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
    common = {"seq": row["seq"], "time": row["time"], "key": _key(row)}
    if row["kind"] == "note":
        return Note(**common, topic=row["topic"], data=json.loads(row["data"]))
    if row["kind"] == "looked_up":
        return _lookup(row, common)
    common |= {name: row[name] for name in ("num_tokens", "size_bytes")} | {"origin": Origin(row["origin"])}
    if row["kind"] == "rejected":
        return Rejected(**common, reason=RejectReason(row["cause"]), tokens=row["tokens"])
    common["snapshot_id"] = row["snapshot_id"]
    if row["kind"] == "inserted":
        return Inserted(**common, tokens=row["tokens"])
    why = {"successor": row["successor"], "self_eviction": row["self_eviction"]}
    return Removed(**common, cause=RemovalCause(row["cause"]), **why)


def _lookup(row: dict[str, Any], common: dict[str, Any]) -> LookedUp:
    names = (
        "outcome", "num_tokens", "cached_tokens", "common_prefix_len", "stored_len", "truncated", "snapshot_id",
    )  # fmt: skip
    seen = {name: row[name] for name in names}
    return LookedUp(**common, **seen, ghost=_ghost(row), tokens=row["tokens"])


def _ghost(row: dict[str, Any]) -> Ghost | None:
    if row["ghost_cause"] is None:
        return None
    cause, key = row["ghost_cause"], _key(row)
    assert key is not None
    return Ghost(
        row["ghost_snapshot_id"], key, row["ghost_num_tokens"], row["ghost_size_bytes"], Origin(row["ghost_origin"]),
        RemovalCause(cause) if cause in [*RemovalCause] else RejectReason(cause),
        row["ghost_time"], row["ghost_seq"], row["ghost_by"], row["ghost_tokens"],
    )  # fmt: skip


def _key(row: dict[str, Any]) -> CacheKey | None:
    if row["model_id"] is None:
        return None
    return CacheKey(
        Bucket(row["model_id"], row["lora_id"], row["template_sig"], row["mm_digest"]), row["session"]
    )
