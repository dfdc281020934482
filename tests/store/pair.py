"""A store and its contract written as a list, driven side by side: every answer and every state must agree."""

from __future__ import annotations

from collections.abc import Callable

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import (
    CacheKey,
    Diverged,
    Hit,
    Journal,
    NoCandidate,
    Origin,
    RejectReason,
    RemovalCause,
    Snapshot,
    SnapshotStore,
)

from .model import GHOST_TOKENS, GHOSTS, ModelStore

Tokens = tuple[int, ...]
MayCut = Callable[[int, int], bool]  # (snapshot id, length)


class Pair:
    def __init__(self, config: PromptCacheConfig, max_events: int | None = None) -> None:
        self.now = 0.0
        self.model = ModelStore(config)
        self.store = SnapshotStore(
            config,
            clock=lambda: self.now,
            journal=Journal(max_events),
            max_ghosts=GHOSTS,
            max_ghost_tokens=GHOST_TOKENS,
        )

    def insert(self, key: CacheKey, tokens: Tokens, size: int, origin: Origin) -> None:
        result = self.store.insert(key, Snapshot(list(tokens), size, origin))
        rejected, removed, resident = self.model.insert(key, tokens, size, origin, self.now)
        assert result.rejected == rejected
        assert [(r.snapshot_id, r.cause) for r in result.removed] == removed
        assert result.resident == resident

    def lookup(self, key: CacheKey, tokens: Tokens, reserve: int = 0, may_cut: MayCut | None = None) -> None:
        ids = {id(e.snapshot): e.snapshot_id for e in self.store.entries()}
        can_truncate = None if may_cut is None else lambda snapshot, n: may_cut(ids[id(snapshot)], n)
        outcome = self.store.lookup(key, list(tokens), can_truncate, reserve=reserve)
        assert _told(outcome) == self.model.lookup(key, tokens, may_cut, reserve, self.now)
        if isinstance(outcome, Hit):
            cached = outcome.cached_tokens
            assert tuple(outcome.snapshot.tokens[:cached]) == tokens[:cached]
            assert outcome.truncated == (cached < outcome.snapshot.num_tokens)

    def expire(self) -> None:
        assert [r.snapshot_id for r in self.store.expire()] == self.model.expire(self.now)

    def clear(self) -> None:
        assert [r.snapshot_id for r in self.store.clear()] == self.model.clear()

    def agree(self) -> None:
        """Entries, order, counters and the journal's story are the same, and the store is whole."""
        self.store.check_integrity()
        entries = [
            (e.snapshot_id, e.key, tuple(e.snapshot.tokens), e.last_used_at) for e in self.store.entries()
        ]
        assert entries == [(e.id, e.key, e.tokens, e.used_at) for e in self.model.entries]
        stats, counts = self.store.stats(), self.model.counts
        assert stats.bytes == self.model.total <= stats.peak_bytes <= stats.capacity_bytes
        assert (stats.inserts, stats.self_evictions) == (counts["inserts"], counts["self"])
        assert stats.ghosts == len(self.model.ghosts)
        assert dict(stats.rejections) == {reason: counts[reason] for reason in RejectReason}
        removed = (
            stats.supersedes, stats.replacements, stats.evictions_lru, stats.evictions_ttl, stats.cleared,
        )  # fmt: skip
        assert removed == tuple(counts[cause] for cause in RemovalCause)
        journal = self.store.journal
        told = [(e.snapshot_id, e.size_bytes) for e in journal.state_at(journal.next_seq - 1)]
        assert told == [(e.id, e.size) for e in self.model.entries]


def _told(outcome: Hit | Diverged | NoCandidate) -> tuple[object, ...]:
    if isinstance(outcome, Hit):
        return "hit", outcome.snapshot_id, outcome.cached_tokens
    ghost = outcome.ghost and (outcome.ghost.num_tokens, outcome.ghost.cause)
    if isinstance(outcome, NoCandidate):
        return "no_candidate", ghost
    return "diverged", outcome.snapshot_id, outcome.common_prefix_len, ghost
