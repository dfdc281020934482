"""The store's contract as plainly as it can be written: one list of entries, every question answered by looking at all.

Slow on purpose, and written from the contract, not from the store: what the two have in common is the types.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import CacheKey, Origin, RejectReason, RemovalCause


@dataclass
class ModelEntry:
    id: int
    key: CacheKey
    tokens: tuple[int, ...]
    size: int
    origin: Origin
    used_at: float


@dataclass
class ModelGhost:
    key: CacheKey
    tokens: tuple[int, ...]
    cause: object


@dataclass
class ModelStore:
    """`entries` is in order of recency, least recent first; `ghosts` by death."""

    config: PromptCacheConfig
    entries: list[ModelEntry] = field(default_factory=list)
    ghosts: list[ModelGhost] = field(default_factory=list)
    counts: Counter[object] = field(default_factory=Counter)
    next_id: int = 0

    @property
    def total(self) -> int:
        return sum(entry.size for entry in self.entries)

    def insert(self, key: CacheKey, tokens: tuple[int, ...], size: int, origin: Origin, now: float):
        """(rejected, [(id, cause)], resident)"""
        reason = self._refusal(tokens, size)
        if reason is not None:
            self.counts[reason] += 1
            if not any(e.key == key and e.tokens == tokens for e in self.entries):
                self._bury(key, tokens, reason)
            return reason, [], False
        new = ModelEntry(self.next_id, key, tokens, size, origin, now)
        self.next_id += 1
        gone = [(e, RemovalCause.SUPERSEDED) for e in self.entries if self._superseded(e, new)]
        gone.sort(key=lambda pair: len(pair[0].tokens))
        gone += [(e, RemovalCause.REPLACED) for e in self.entries if e.key == key and e.tokens == tokens]
        self.ghosts = [g for g in self.ghosts if not (g.key == key and g.tokens == tokens)]  # it lives again
        for entry, cause in gone:
            self._remove(entry, cause)
        self.entries.append(new)
        self.counts["inserts"] += 1
        while (
            len(self.entries) > self.config.snapshot_max_entries
            or self.total > self.config.snapshot_capacity_bytes
        ):
            victim = self.entries[0]
            self._remove(victim, RemovalCause.EVICTED)
            gone.append((victim, RemovalCause.EVICTED))
            self.counts["self"] += key.session is not None and victim.key.session == key.session
        return None, [(entry.id, cause) for entry, cause in gone], new in self.entries

    def lookup(self, key: CacheKey, tokens: tuple[int, ...], may_cut, reserve: int, now: float):
        """("hit", id, cached) | ("diverged", id, common, ghost) | ("no_candidate", ghost)"""
        self.expire(now)
        usable = len(tokens) - reserve
        mine = [e for e in reversed(self.entries) if e.key == key]
        shared = {e.id: _common(e.tokens, tokens) for e in mine}
        exact = sorted((e for e in mine if shared[e.id] == len(e.tokens)), key=lambda e: -len(e.tokens))
        near = sorted(mine, key=lambda e: -shared[e.id])  # stable: most recent first among equals
        for entry in [*exact, *(near if may_cut else [])]:
            cached = min(shared[entry.id], usable)
            if cached < max(1, self.config.min_prefix_tokens):
                continue
            if cached == len(entry.tokens) or (may_cut and may_cut(entry.id, cached)):
                self.entries.remove(entry)
                self.entries.append(entry)
                entry.used_at = now
                return "hit", entry.id, cached
        ghosts = [g for g in self.ghosts if g.key == key and g.tokens == tokens[: len(g.tokens)]]
        shortest = self.config.min_prefix_tokens
        ghosts = sorted(
            (g for g in ghosts if shortest <= len(g.tokens) <= usable), key=lambda g: len(g.tokens)
        )
        ghost = (len(ghosts[-1].tokens), ghosts[-1].cause) if ghosts else None
        if not near:
            return "no_candidate", ghost
        return "diverged", near[0].id, shared[near[0].id], ghost

    def expire(self, now: float) -> list[int]:
        ttl = self.config.snapshot_ttl_seconds
        gone = [e for e in self.entries if ttl and now - e.used_at >= ttl]
        for entry in gone:
            self._remove(entry, RemovalCause.EXPIRED)
        return [entry.id for entry in gone]

    def clear(self) -> list[int]:
        gone = list(self.entries)
        for entry in gone:
            self._remove(entry, RemovalCause.CLEARED)
        return [entry.id for entry in gone]

    def _refusal(self, tokens: tuple[int, ...], size: int) -> RejectReason | None:
        if not self.config.enabled:
            return RejectReason.DISABLED
        if len(tokens) < self.config.min_prefix_tokens:
            return RejectReason.PREFIX_TOO_SHORT
        return RejectReason.OVERSIZED if size > self.config.snapshot_capacity_bytes else None

    def _superseded(self, old: ModelEntry, new: ModelEntry) -> bool:
        strict = len(old.tokens) < len(new.tokens) and new.tokens[: len(old.tokens)] == old.tokens
        same = old.key == new.key and new.key.session is not None
        by_rule = {"off": False, "session": True, "origin": old.origin == new.origin}
        return strict and same and by_rule[self.config.supersede]

    def _remove(self, entry: ModelEntry, cause: RemovalCause) -> None:
        self.entries.remove(entry)
        self.counts[cause] += 1
        if cause is not RemovalCause.REPLACED:
            self._bury(entry.key, entry.tokens, cause)

    def _bury(self, key: CacheKey, tokens: tuple[int, ...], cause: object) -> None:
        self.ghosts = [g for g in self.ghosts if not (g.key == key and g.tokens == tokens)]
        self.ghosts.append(ModelGhost(key, tokens, cause))
        while len(self.ghosts) > GHOSTS or sum(len(g.tokens) for g in self.ghosts) > GHOST_TOKENS:
            self.ghosts.pop(0)


GHOSTS, GHOST_TOKENS = 6, 24


def _common(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    return same
