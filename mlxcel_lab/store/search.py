"""Which resident snapshot serves a request or why none does, and whom a newcomer replaces. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .index import Found
from .records import Record
from .rules import SupersedeRule
from .types import CacheKey, Diverged, Hit, NoCandidate, Outcome, RemovalCause, Snapshot

CanTruncate: TypeAlias = Callable[[Snapshot, int], bool]
"""Whether a snapshot's state can be cut to its first n tokens. It runs under the store's lock and mustn't call it."""


def search(
    found: Found, min_prefix_tokens: int, can_truncate: CanTruncate | None, reserve: int
) -> tuple[Outcome, Record | None]:
    """The outcome, and the record that serves where it is a hit. Stored prefixes come before what must be cut."""
    usable, least = len(found.tokens) - reserve, max(min_prefix_tokens, 1)
    for record in found.prefixes():
        length = min(record.num_tokens, usable)
        if length < least:
            break  # the others are shorter still
        if length == record.num_tokens or (can_truncate and can_truncate(record.resident, length)):
            return Hit(record.number, record.resident, length, length < record.num_tokens), record
    if can_truncate is None:
        return _miss(found, least, usable), None
    for record, common in found.nearest():
        length = min(common, usable)
        if length < least:
            break  # the others share less still
        if can_truncate(record.resident, length):
            return Hit(record.number, record.resident, length, truncated=True), record
    return _miss(found, least, usable), None


def _miss(found: Found, least: int, usable: int) -> Diverged | NoCandidate:
    gone = found.ghost(least, usable)  # any other wouldn't have hit
    ghost = None if gone is None else gone.ghost()
    if not found.anything:
        return NoCandidate(ghost)
    record, common = found.closest()
    return Diverged(common, record.num_tokens, record.number, record.resident.tokens, ghost)


def as_event(outcome: Outcome) -> dict[str, Any]:
    """The outcome's part of a `LookedUp` event."""
    if isinstance(outcome, Hit):
        return {
            "outcome": outcome.name, "cached_tokens": outcome.cached_tokens, "common_prefix_len": outcome.cached_tokens,
            "stored_len": outcome.snapshot.num_tokens, "truncated": outcome.truncated,
            "snapshot_id": outcome.snapshot_id,
        }  # fmt: skip
    if isinstance(outcome, NoCandidate):
        return {"outcome": outcome.name, "ghost": outcome.ghost}
    return {
        "outcome": outcome.name, "common_prefix_len": outcome.common_prefix_len, "stored_len": outcome.stored_len,
        "snapshot_id": outcome.snapshot_id, "ghost": outcome.ghost,
    }  # fmt: skip


def replaced(
    found: Found, key: CacheKey, newcomer: Snapshot, rule: SupersedeRule
) -> list[tuple[Record, RemovalCause]]:
    """Whom the newcomer removes and why: ancestors by the rule, shortest first, then a twin of the same tokens."""
    gone = []
    for old in reversed([*found.prefixes()]):
        if old.num_tokens == len(newcomer.tokens):
            gone.append((old, RemovalCause.REPLACED))
        elif key.session is not None and rule.supersedes(key, newcomer, old.resident):
            gone.append((old, RemovalCause.SUPERSEDED))
    return gone
