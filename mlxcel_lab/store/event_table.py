"""Events as rows of one flat table and back: what the events frame shows and what a journal's file holds.

| column | type | of which kinds |
|---|---|---|
| seq, time, kind | u32, f64 (s), text | all; kind is `inserted`, `removed`, `rejected`, `looked_up` or `note` |
| model_id, lora_id, template_sig, mm_digest, session | text | all; null without a key (`session` null: no conversation) |
| snapshot_id | i64 | inserted, removed; looked_up: who served or came nearest |
| origin, num_tokens, size_bytes | text, i64, i64 (B) | inserted, removed, rejected; looked_up has num_tokens |
| cause | text | removed: a removal cause; rejected: a reject reason |
| successor, self_eviction | i64, bool | removed |
| outcome, cached_tokens, common_prefix_len, stored_len, truncated | text, i64, i64, i64, bool | looked_up |
| ghost_snapshot_id, ghost_origin, ghost_num_tokens, ghost_size_bytes, ghost_cause, ghost_time, ghost_seq, ghost_by | | looked_up with a ghost |
| topic, data | text, JSON text | note |
"""  # noqa: E501

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import polars as pl

from .events import Event, Inserted, LookedUp, Note, Rejected, Removed
from .types import CacheKey

_TEXT, _INT, _FLAG = pl.String, pl.Int64, pl.Boolean
KEY_COLUMNS = dict.fromkeys(("model_id", "lora_id", "template_sig", "mm_digest", "session"), _TEXT)
SCHEMA: dict[str, Any] = {
    "seq": pl.UInt32, "time": pl.Float64, "kind": _TEXT, **KEY_COLUMNS,
    "snapshot_id": _INT, "origin": _TEXT, "num_tokens": _INT, "size_bytes": _INT,
    "cause": _TEXT, "successor": _INT, "self_eviction": _FLAG,
    "outcome": _TEXT, "cached_tokens": _INT, "common_prefix_len": _INT, "stored_len": _INT, "truncated": _FLAG,
    "ghost_snapshot_id": _INT, "ghost_origin": _TEXT, "ghost_num_tokens": _INT, "ghost_size_bytes": _INT,
    "ghost_cause": _TEXT, "ghost_time": pl.Float64, "ghost_seq": _INT, "ghost_by": _INT,
    "topic": _TEXT, "data": _TEXT,
}  # fmt: skip
KINDS: dict[type[Any], str] = {
    Inserted: "inserted", Removed: "removed", Rejected: "rejected", LookedUp: "looked_up", Note: "note",
}  # fmt: skip

_ABSENT = (None,)
_NO_REMOVAL = _ABSENT * 2
_NO_LOOKUP = _ABSENT * 5
_NO_GHOST = _ABSENT * 8
_NO_NOTE = _ABSENT * 2
_NO_KEY = _ABSENT * 5


def to_frame(events: Iterable[Event]) -> pl.DataFrame:
    """One row an event, in order; the columns are in the module's text."""
    rows = [(e.seq, e.time, KINDS[type(e)], *key_cells(e.key), *_CELLS[type(e)](e)) for e in events]
    columns = zip(*rows, strict=True) if rows else ([] for _ in SCHEMA)
    return pl.DataFrame(
        [pl.Series(name, cells, dtype) for (name, dtype), cells in zip(SCHEMA.items(), columns, strict=True)]
    )


def key_cells(key: CacheKey | None) -> tuple[str | None, ...]:
    if key is None:
        return _NO_KEY
    bucket = key.bucket
    return (bucket.model_id, bucket.lora_id, bucket.template_sig, bucket.mm_digest, key.session)


def _inserted(e: Inserted) -> tuple[Any, ...]:
    what = (e.snapshot_id, e.origin.value, e.num_tokens, e.size_bytes)
    return (*what, None, *_NO_REMOVAL, *_NO_LOOKUP, *_NO_GHOST, *_NO_NOTE)


def _removed(e: Removed) -> tuple[Any, ...]:
    what = (e.snapshot_id, e.origin.value, e.num_tokens, e.size_bytes)
    return (*what, e.cause.value, e.successor, e.self_eviction, *_NO_LOOKUP, *_NO_GHOST, *_NO_NOTE)


def _rejected(e: Rejected) -> tuple[Any, ...]:
    what = (None, e.origin.value, e.num_tokens, e.size_bytes)
    return (*what, e.reason.value, *_NO_REMOVAL, *_NO_LOOKUP, *_NO_GHOST, *_NO_NOTE)


def _looked_up(e: LookedUp) -> tuple[Any, ...]:
    seen = (e.outcome, e.cached_tokens, e.common_prefix_len, e.stored_len, e.truncated)
    ghost: tuple[Any, ...] = _NO_GHOST
    if (g := e.ghost) is not None:
        ghost = (
            g.snapshot_id, g.origin.value, g.num_tokens, g.size_bytes, g.cause.value, g.at, g.seq, g.by,
        )  # fmt: skip
    return (e.snapshot_id, None, e.num_tokens, None, None, *_NO_REMOVAL, *seen, *ghost, *_NO_NOTE)


def _note(e: Note) -> tuple[Any, ...]:
    return (*_ABSENT * 5, *_NO_REMOVAL, *_NO_LOOKUP, *_NO_GHOST, e.topic, json.dumps(dict(e.data)))


_CELLS: dict[type[Any], Callable[[Any], tuple[Any, ...]]] = {
    Inserted: _inserted, Removed: _removed, Rejected: _rejected, LookedUp: _looked_up, Note: _note,
}  # fmt: skip
