"""Misses that a snapshot would have served if it weren't gone: why it went, through whom, and what was missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..store.events import Event, Inserted, Note, Removed
from ..store.types import Ghost, RejectReason, RemovalCause
from .causes import Cause
from .divergence import Finding
from .elsewhere import REJECTIONS

_REMOVALS: dict[RemovalCause, Cause] = {
    RemovalCause.EVICTED: Cause.EVICTED,
    RemovalCause.EXPIRED: Cause.EXPIRED,
    RemovalCause.SUPERSEDED: Cause.SUPERSEDED,
    RemovalCause.CLEARED: Cause.CLEARED,
    RemovalCause.REPLACED: Cause.SUPERSEDED,
}


def why_gone(ghost: Ghost, events: Iterable[Event]) -> Finding:
    """The cause for which a snapshot that would have hit isn't there."""
    details: dict[str, Any] = {
        "tokens": ghost.num_tokens,
        "bytes": ghost.size_bytes,
        "origin": str(ghost.origin),
    }
    seen = list(events)
    settings = _settings(seen)
    if isinstance(ghost.cause, RejectReason):
        return Finding(REJECTIONS[ghost.cause], details={**details, **_limit(ghost.cause, ghost, settings)})
    inserts = [e for e in seen if isinstance(e, Inserted)]
    by = next((event for event in inserts if event.snapshot_id == ghost.by), None)
    since = ghost.seq if by is None else min(by.seq, ghost.seq)
    details["inserts_ago"] = sum(event.seq >= since for event in inserts)
    if by is not None:
        details |= {"by_snapshot": by.snapshot_id, "by_session": by.key.session, "by_origin": str(by.origin)}
    if ghost.cause == RemovalCause.EVICTED:
        details |= shortage(ghost, seen, settings)
    if ghost.cause == RemovalCause.EXPIRED and seen:
        details["gone_for_seconds"] = round(seen[-1].time - ghost.at, 3)
    return Finding(_REMOVALS[ghost.cause], details=details)


def shortage(ghost: Ghost, events: Sequence[Event], settings: Mapping[str, Any]) -> dict[str, int]:
    """By how many bytes or entries the budget was too small for the ghost to be resident still.

    Under LRU all that is resident now, and all that was evicted after the ghost, was used after it; had the budget been
    larger, it would be there beside the ghost.
    """
    resident = {e.snapshot_id: e.size_bytes for e in events if isinstance(e, Inserted)}
    evicted = [
        e for e in events if isinstance(e, Removed) and e.cause == RemovalCause.EVICTED and e.seq >= ghost.seq
    ]
    for event in events:
        if isinstance(event, Removed):
            resident.pop(event.snapshot_id, None)
    kept = [*resident.values(), *(event.size_bytes for event in evicted)]
    missing = {
        "bytes_short": sum(kept) - int(settings.get("capacity_bytes", sum(kept))),
        "entries_short": len(kept) - int(settings.get("max_entries", len(kept))),
    }
    return {name: short for name, short in missing.items() if short > 0}


def _limit(reason: RejectReason, ghost: Ghost, settings: Mapping[str, Any]) -> dict[str, int]:
    if reason == RejectReason.OVERSIZED and "capacity_bytes" in settings:
        return {"bytes_short": ghost.size_bytes - int(settings["capacity_bytes"])}
    if reason == RejectReason.PREFIX_TOO_SHORT and "min_prefix_tokens" in settings:
        return {"tokens_short": int(settings["min_prefix_tokens"]) - ghost.num_tokens}
    return {}


def _settings(events: Iterable[Event]) -> dict[str, Any]:
    """The store's settings as its journal last noted them."""
    merged: dict[str, Any] = {}
    for event in events:
        if isinstance(event, Note) and event.topic == "opened":
            merged |= event.data
    return merged
