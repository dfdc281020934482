"""What a store counts, as a frozen picture (`Stats`) and under mlxcel's names on the wire."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..config import PromptCacheConfig
from .types import CacheKey, Diverged, Hit, Outcome, RejectReason, RemovalCause, Snapshot

DIVERGED = "snapshot_diverged"  # mlxcel's word for it


@dataclass(frozen=True, slots=True)
class LastReject:
    """What was turned away last: a donated snapshot, or a request that diverged from everything stored.

    `context_len` is the tokens donated, or those shared with the nearest snapshot, whose length is then
    `entry_len`. `size_bytes` is a donated snapshot's. `at` is the store's clock.
    """

    reason: str  # a RejectReason's value, or DIVERGED
    session: str | None
    at: float
    context_len: int
    entry_len: int | None = None
    size_bytes: int | None = None


@dataclass(slots=True)
class Counters:
    """Lifetime counts; the store changes them under its lock."""

    inserts: int = 0  # admitted ones
    lookups: int = 0
    hits: int = 0
    truncated_hits: int = 0
    diverged: int = 0
    tokens_looked_up: int = 0
    tokens_reused: int = 0
    self_evictions: int = 0
    peak_bytes: int = 0
    removed: dict[RemovalCause, int] = field(default_factory=lambda: dict.fromkeys(RemovalCause, 0))
    rejected: dict[RejectReason, int] = field(default_factory=lambda: dict.fromkeys(RejectReason, 0))
    last_reject: LastReject | None = None

    def count_lookup(self, key: CacheKey, num_tokens: int, outcome: Outcome, at: float) -> None:
        self.lookups += 1
        self.tokens_looked_up += num_tokens
        if isinstance(outcome, Hit):
            self.hits += 1
            self.truncated_hits += outcome.truncated
            self.tokens_reused += outcome.cached_tokens
        elif isinstance(outcome, Diverged):
            self.diverged += 1
            self.last_reject = LastReject(
                DIVERGED, key.session, at, outcome.common_prefix_len, outcome.stored_len
            )

    def count_rejection(self, key: CacheKey, snapshot: Snapshot, reason: RejectReason, at: float) -> None:
        self.rejected[reason] += 1
        self.last_reject = LastReject(
            reason.value, key.session, at, len(snapshot.tokens), size_bytes=snapshot.size_bytes
        )


@dataclass(frozen=True, slots=True)
class Stats:
    """A store's counters and sizes at one moment. Bytes are the snapshots' accounted sizes.

    `peak_bytes` is the most that was ever resident after an operation: compare it with the budget, `capacity_bytes`.
    `evictions_lru` doesn't include replacements here (it does on the wire, as mlxcel counts).
    """

    entries: int
    bytes: int
    peak_bytes: int
    capacity_bytes: int
    max_entries: int
    ghosts: int
    inserts: int
    lookups: int
    hits: int
    truncated_hits: int
    diverged: int
    tokens_looked_up: int
    tokens_reused: int
    supersedes: int
    evictions_lru: int
    evictions_ttl: int
    replacements: int
    cleared: int
    self_evictions: int
    rejections: Mapping[RejectReason, int]
    last_reject: LastReject | None

    @classmethod
    def of(cls, c: Counters, config: PromptCacheConfig, entries: int, size: int, ghosts: int) -> Stats:
        return cls(
            entries=entries, bytes=size, peak_bytes=c.peak_bytes, capacity_bytes=config.capacity_bytes,
            max_entries=config.snapshot_max_entries, ghosts=ghosts, inserts=c.inserts, lookups=c.lookups, hits=c.hits,
            truncated_hits=c.truncated_hits, diverged=c.diverged, tokens_looked_up=c.tokens_looked_up,
            tokens_reused=c.tokens_reused,
            supersedes=c.removed[RemovalCause.SUPERSEDED], evictions_lru=c.removed[RemovalCause.EVICTED],
            evictions_ttl=c.removed[RemovalCause.EXPIRED], replacements=c.removed[RemovalCause.REPLACED],
            cleared=c.removed[RemovalCause.CLEARED], self_evictions=c.self_evictions,
            rejections=MappingProxyType(dict(c.rejected)), last_reject=c.last_reject,
        )  # fmt: skip

    @property
    def misses(self) -> int:
        return self.lookups - self.hits

    @property
    def hit_rate(self) -> float:
        """Hits per lookup, 0.0 before the first lookup."""
        return self.hits / self.lookups if self.lookups else 0.0

    @property
    def bytes_per_entry(self) -> int:
        """Rounded down, 0 while nothing is resident."""
        return self.bytes // self.entries if self.entries else 0

    @property
    def rejected(self) -> int:
        return sum(self.rejections.values())

    def __repr__(self) -> str:
        return (
            f"Stats(entries={self.entries}, bytes={self.bytes:,} of {self.capacity_bytes:,}, peak={self.peak_bytes:,}, "
            f"hits={self.hits}/{self.lookups}, inserts={self.inserts}, supersedes={self.supersedes}, "
            f"evictions={self.evictions_lru}, expired={self.evictions_ttl}, rejected={self.rejected})"
        )

    def _repr_html_(self) -> str:
        cell = "style='text-align:left'"
        rows = self._told().items()
        body = "".join(
            f"<tr><th {cell}>{name}</th><td {cell}>{html.escape(told)}</td></tr>" for name, told in rows
        )
        return f"<table>{body}</table>"

    def _told(self) -> dict[str, str]:
        rejected = [f"{count:,} {reason}" for reason, count in self.rejections.items() if count]
        return {
            "resident": f"{self.entries:,} of {self.max_entries:,} entries, {self.bytes:,} of "
            f"{self.capacity_bytes:,} bytes, {self.peak_bytes:,} at the peak",
            "lookups": f"{self.lookups:,}: {self.hits:,} hits ({self.hit_rate:.0%}, "
            f"{self.truncated_hits:,} truncated), {self.tokens_reused:,} of {self.tokens_looked_up:,} tokens reused",
            "inserts": f"{self.inserts:,}: {self.supersedes:,} superseded, {self.replacements:,} replaced, "
            f"{self.evictions_lru:,} evicted ({self.self_evictions:,} by their own session), "
            f"{self.evictions_ttl:,} expired, {self.cleared:,} cleared",
            "rejected": ", ".join(rejected) or "none",
        }

    def payload(self) -> dict[str, Any]:
        """The stats under the names of mlxcel's `/v1/cache/stats`; plain JSON values."""
        last = self.last_reject
        return {
            "snapshot_entries": self.entries,
            "snapshot_bytes": self.bytes,
            "snapshot_bytes_per_entry": self.bytes_per_entry,
            "snapshot_peak_bytes": self.peak_bytes,
            "snapshot_capacity_bytes": self.capacity_bytes,
            "snapshot_max_entries": self.max_entries,
            "snapshot_hits": self.hits,
            "snapshot_lookups": self.lookups,
            "snapshot_hit_rate": self.hit_rate,
            "snapshot_truncated_hits": self.truncated_hits,
            "snapshot_tokens_reused": self.tokens_reused,
            "snapshot_inserts": self.inserts,
            "snapshot_evictions_lru": self.evictions_lru + self.replacements,
            "snapshot_evictions_ttl": self.evictions_ttl,
            "snapshot_replacements": self.replacements,
            "snapshot_supersedes": self.supersedes,
            "snapshot_self_evictions": self.self_evictions,
            "snapshot_rejections_oversized": self.rejections[RejectReason.OVERSIZED],
            **{f"reject_{reason}": count for reason, count in self.rejections.items()},
            f"reject_{DIVERGED}": self.diverged,
            "last_reject_reason": last and last.reason,
            "last_reject_session": last and last.session,
            "last_reject_context_len": last and last.context_len,
            "last_reject_entry_len": last and last.entry_len,
            "last_reject_bytes": last and last.size_bytes,
        }
