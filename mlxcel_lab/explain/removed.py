"""Misses that a snapshot would have served if it weren't gone: why it went, through whom, and what was missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..store import common_prefix
from ..store.events import Inserted, Removed
from ..store.types import Ghost, RejectReason, RemovalCause
from .causes import Cause
from .divergence import Finding
from .past import Past

_REJECTIONS: dict[RejectReason, Cause] = {
    RejectReason.DISABLED: Cause.DISABLED,
    RejectReason.PREFIX_TOO_SHORT: Cause.TOO_SHORT,
    RejectReason.OVERSIZED: Cause.OVERSIZED,
    RejectReason.RULE: Cause.DECLINED,
}
_REMOVALS: dict[RemovalCause, Cause] = {
    RemovalCause.EVICTED: Cause.EVICTED,
    RemovalCause.EXPIRED: Cause.EXPIRED,
    RemovalCause.SUPERSEDED: Cause.SUPERSEDED,
    RemovalCause.CLEARED: Cause.CLEARED,
    RemovalCause.REPLACED: Cause.SUPERSEDED,
}


def would_be_there(ghost: Ghost, past: Past) -> bool:
    """Whether the ghost would serve now if the operator had prevented what removed it.

    A conversation that went on has superseded its older snapshots by now, in any case: whoever goes back behind them
    misses for going back. So a removal counts as the cause only where no newer snapshot would have taken the ghost's
    place under the rule in force; and being superseded only where none would have under `origin`, the rule to advise.
    """
    if isinstance(ghost.cause, RejectReason) or ghost.key.session is None:
        return True
    newer = [event for event in past.inserted if event.seq > ghost.seq and _extends(event, ghost)]
    if ghost.cause == RemovalCause.SUPERSEDED:  # by a snapshot that isn't known: then nothing can be advised
        return bool(newer) and all(event.origin != ghost.origin for event in newer)
    rule = past.settings.get("rule")
    return not any(rule == "session" or (rule == "origin" and e.origin == ghost.origin) for e in newer)


def _extends(newer: Inserted, ghost: Ghost) -> bool:
    if newer.key != ghost.key or newer.num_tokens <= ghost.num_tokens:
        return False
    if newer.snapshot_id == ghost.by and ghost.cause == RemovalCause.SUPERSEDED:
        return True
    if newer.tokens is None or ghost.tokens is None:
        return False
    return common_prefix(newer.tokens, ghost.tokens) == ghost.num_tokens


def why_gone(ghost: Ghost, past: Past) -> Finding:
    """The cause for which a snapshot that would have hit isn't there."""
    details: dict[str, Any] = {
        "tokens": ghost.num_tokens,
        "bytes": ghost.size_bytes,
        "origin": str(ghost.origin),
    }
    if isinstance(ghost.cause, RejectReason):
        return Finding(_REJECTIONS[ghost.cause], details=details | _limit(ghost.cause, ghost, past.settings))
    by = next((event for event in past.inserted if event.snapshot_id == ghost.by), None)
    counts = {"inserts_ago": _inserts_since(ghost, by, past)}
    if ghost.cause == RemovalCause.EVICTED:
        counts |= shortage(ghost, past)
    # What the journal no longer holds may have been more of it.
    at_least = "" if past.holds_since(ghost.seq) else "_at_least"
    details |= {name + at_least: count for name, count in counts.items()}
    if by is not None:
        details |= {"by_snapshot": by.snapshot_id, "by_session": by.key.session, "by_origin": str(by.origin)}
    if ghost.cause == RemovalCause.EXPIRED and past.looked is not None:
        details["gone_for_seconds"] = round(past.looked.time - ghost.at, 3)
    return Finding(_REMOVALS[ghost.cause], details=details)


def _inserts_since(ghost: Ghost, by: Inserted | None, past: Past) -> int:
    since = ghost.seq if by is None else min(by.seq, ghost.seq)
    return sum(event.seq >= since for event in past.inserted)


def shortage(ghost: Ghost, past: Past) -> dict[str, int]:
    """By how many bytes or entries the budget was too small for the ghost to be resident still.

    Under LRU all that is resident now, and all that was evicted after the ghost, was used after it; had the budget been
    larger, it would be there beside the ghost.
    """
    evicted = [
        e.size_bytes
        for e in past.events
        if isinstance(e, Removed) and e.cause == RemovalCause.EVICTED and e.seq > ghost.seq
    ]
    kept = [ghost.size_bytes, *evicted, *(event.size_bytes for event in past.residents)]
    missing = {
        "bytes_short": sum(kept) - int(past.settings.get("capacity_bytes", sum(kept))),
        "entries_short": len(kept) - int(past.settings.get("max_entries", len(kept))),
    }
    return {name: short for name, short in missing.items() if short > 0}


def _limit(reason: RejectReason, ghost: Ghost, settings: Mapping[str, Any]) -> dict[str, int]:
    if reason == RejectReason.OVERSIZED and "capacity_bytes" in settings:
        return {"bytes_short": ghost.size_bytes - int(settings["capacity_bytes"])}
    if reason == RejectReason.PREFIX_TOO_SHORT and "min_prefix_tokens" in settings:
        return {"tokens_short": int(settings["min_prefix_tokens"]) - ghost.num_tokens}
    return {}
