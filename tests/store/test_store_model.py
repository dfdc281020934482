"""The store against its contract written as a list: any sequence of operations gives the same answers on both."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import (
    Bucket,
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

KEYS = [CacheKey(Bucket(model), session) for model in "mn" for session in ("a", "b", None)]
# Two tokens and short vectors make prefixes, forks and twins likely.
vectors = st.lists(st.integers(0, 1), min_size=1, max_size=7).map(tuple)
keys = st.sampled_from(KEYS[:1] * 4 + KEYS)
configs = st.builds(
    PromptCacheConfig,
    enabled=st.sampled_from([True] * 9 + [False]),
    min_prefix_tokens=st.integers(0, 3),
    snapshot_capacity_bytes=st.integers(0, 30),
    snapshot_max_entries=st.integers(0, 8),
    snapshot_ttl_seconds=st.sampled_from([0, 0, 3, 10]),
    supersede=st.sampled_from(["off", "session", "origin"]),
)


class StoreAgainstModel(RuleBasedStateMachine):
    @initialize(config=configs, max_events=st.sampled_from([None, 1, 5]))
    def open(self, config: PromptCacheConfig, max_events: int | None) -> None:
        self.now = 0.0
        self.store = SnapshotStore(
            config,
            clock=lambda: self.now,
            journal=Journal(max_events),
            max_ghosts=GHOSTS,
            max_ghost_tokens=GHOST_TOKENS,
        )
        self.model = ModelStore(config)

    @rule(seconds=st.integers(0, 4))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule(key=keys, tokens=vectors, size=st.integers(0, 12), origin=st.sampled_from(Origin))
    def insert(self, key: CacheKey, tokens: tuple[int, ...], size: int, origin: Origin) -> None:
        result = self.store.insert(key, Snapshot(list(tokens), size, origin))
        rejected, removed, resident = self.model.insert(key, tokens, size, origin, self.now)
        assert result.rejected == rejected
        assert [(r.snapshot_id, r.cause) for r in result.removed] == removed
        assert result.resident == resident

    @rule(key=keys, tokens=vectors | st.just(()), reserve=st.integers(0, 2), cut=st.integers(-1, 3))
    def lookup(self, key: CacheKey, tokens: tuple[int, ...], reserve: int, cut: int) -> None:
        def may_cut(snapshot_id: int, length: int) -> bool:
            return cut > 0 and (snapshot_id + length) % cut == 0

        ids = {id(e.snapshot): e.snapshot_id for e in self.store.entries()}
        can_truncate = None if cut < 0 else lambda snapshot, n: may_cut(ids[id(snapshot)], n)
        outcome = self.store.lookup(key, list(tokens), can_truncate, reserve=reserve)
        expected = self.model.lookup(key, tokens, may_cut if cut >= 0 else None, reserve, self.now)
        assert _told(outcome) == expected
        if isinstance(outcome, Hit):
            assert tuple(outcome.snapshot.tokens[: outcome.cached_tokens]) == tokens[: outcome.cached_tokens]
            assert outcome.truncated == (outcome.cached_tokens < outcome.snapshot.num_tokens)

    @rule()
    def expire(self) -> None:
        assert [r.snapshot_id for r in self.store.expire()] == self.model.expire(self.now)

    @rule(chance=st.integers(0, 9))
    def clear(self, chance: int) -> None:
        if chance == 0:
            assert [r.snapshot_id for r in self.store.clear()] == self.model.clear()

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "store"):
            return
        self.store.check_integrity()
        entries = [
            (e.snapshot_id, e.key, tuple(e.snapshot.tokens), e.last_used_at) for e in self.store.entries()
        ]
        assert entries == [(e.id, e.key, e.tokens, e.used_at) for e in self.model.entries]
        stats, counts = self.store.stats(), self.model.counts
        assert stats.bytes == self.model.total <= stats.peak_bytes <= stats.capacity_bytes
        assert stats.inserts == counts["inserts"]
        assert stats.self_evictions == counts["self"]
        assert stats.ghosts == len(self.model.ghosts)
        assert dict(stats.rejections) == {reason: counts[reason] for reason in RejectReason}
        removed = (
            stats.supersedes,
            stats.replacements,
            stats.evictions_lru,
            stats.evictions_ttl,
            stats.cleared,
        )
        assert removed == tuple(counts[cause] for cause in RemovalCause)

    @invariant()
    def the_journal_tells_the_same(self) -> None:
        if hasattr(self, "store"):
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


StoreAgainstModel.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestStoreAgainstModel = StoreAgainstModel.TestCase
