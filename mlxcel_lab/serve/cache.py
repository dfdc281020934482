"""The cache's own routes: statistics, what is resident, the journal as JSON lines, reset."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from ..store import Entry, Event, Journal, RemovalCause, Removed, SnapshotStore
from ..store.wire import base_to_json, event_to_json

_POLL_SECONDS = 0.1


def cache_routes(store: SnapshotStore, stopping: threading.Event) -> APIRouter:
    """`/v1/cache/…` over one store."""
    router = APIRouter(prefix="/v1/cache", tags=["cache"])

    @router.get("/stats")
    def stats() -> dict[str, Any]:
        """mlxcel's wire names, and beyond them the TTL, the shortest prefix and the rule."""
        return stats_body(store)

    @router.post("/reset")
    def reset() -> dict[str, int]:
        """Remove every snapshot; each counts as cleared."""
        removed = store.clear()
        return {"removed": len(removed), "freed_bytes": sum(r.size_bytes for r in removed)}

    @router.get("/entries")
    def entries() -> dict[str, Any]:
        """What is resident, least recently used first; `lineage` are the snapshots that each one superseded."""
        now, ancestors = store.now(), lineage(store.journal)
        rows = [_entry_row(entry, now, ancestors.get(entry.snapshot_id, [])) for entry in store.entries()]
        return {"entries": rows}

    @router.get("/events", response_class=StreamingResponse)
    async def events(
        request: Request,
        since: int = Query(0, ge=0, lt=2**63, description="the first event's sequence number"),
        follow: bool = Query(False, description="keep the answer open and send what comes"),
        tokens: bool = Query(False, description="send token vectors too"),
        base: bool = Query(False, description="begin with what the kept events stand on, then all of them"),
    ) -> StreamingResponse:
        """The journal from `since` on, one JSON object a line."""

        async def over() -> bool:
            return not follow or stopping.is_set() or await request.is_disconnected()

        lines = _lines(store, None if base else since, over, tokens=tokens)
        known = {"X-Next-Seq": str(store.journal.next_seq)}  # less than `since`: this is another journal
        return StreamingResponse(lines, media_type="application/x-ndjson", headers=known)

    return router


def stats_body(store: SnapshotStore) -> dict[str, Any]:
    config = store.config
    return {
        "enabled": config.enabled,
        **store.stats_payload(),
        "snapshot_ttl_seconds": config.snapshot_ttl_seconds,
        "min_prefix_tokens": config.min_prefix_tokens,
        "supersede": store.rule.name,
    }


def lineage(journal: Journal) -> dict[int, list[int]]:
    """Per snapshot that superseded others: the whole chain that it stands for, oldest first. O(kept events)."""
    chains: dict[int, list[int]] = {}
    for event in journal:
        if (
            isinstance(event, Removed)
            and event.cause is RemovalCause.SUPERSEDED
            and event.successor is not None
        ):
            chains.setdefault(event.successor, []).extend(
                [*chains.pop(event.snapshot_id, []), event.snapshot_id]
            )
    return chains


def _entry_row(entry: Entry, now: float, ancestors: list[int]) -> dict[str, Any]:
    return {
        "snapshot_id": entry.snapshot_id,
        "session": entry.key.session,
        "model_id": entry.key.bucket.model_id,
        "origin": str(entry.snapshot.origin),
        "tokens": entry.snapshot.num_tokens,
        "bytes": entry.snapshot.size_bytes,
        "age_seconds": now - entry.inserted_at,
        "idle_seconds": now - entry.last_used_at,
        "hits": entry.hits,
        "lineage": ancestors,
    }


async def _lines(
    store: SnapshotStore, since: int | None, over: Callable[[], Awaitable[bool]], *, tokens: bool
) -> AsyncIterator[str]:
    """The journal's lines from `since` on; None: all of it, behind its base."""
    batch: Sequence[Event] = ()
    if since is None:
        base, batch = base_to_json(store.journal, tokens=tokens)
        yield _line(base)
        since = base["first_seq"]
    while True:
        for event in batch:
            yield _line(event_to_json(event, tokens=tokens))
            since = event.seq + 1
        batch = store.journal.since(since - 1)
        if not batch:
            if await over():
                return
            await asyncio.sleep(_POLL_SECONDS)


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row) + "\n"
