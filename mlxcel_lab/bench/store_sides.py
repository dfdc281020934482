"""The two sides of `bench store`: our SnapshotStore and mlx-lm's LRUPromptCache, with the same stub state.

Measured is bookkeeping alone: keys, search, eviction. No side holds tensors; the peer's deep copy of a state that it
returns copies a stub.
"""

from __future__ import annotations

from typing import Any, Protocol

from ..config import PromptCacheConfig
from ..store import CacheKey, Hit, Journal, Snapshot, SnapshotStore

SNAPSHOT_BYTES = 13_246_464  # of qwen3.5-0.8b, as mlxcel's pull request 1151 published it
_UNLIMITED = 1 << 60


class Side(Protocol):
    """What the benchmark does to either."""

    def insert(self, tokens: Any) -> None: ...

    def lookup(self, tokens: Any) -> bool:
        """Whether anything served."""
        ...


class StubLayer:
    """One layer of a recurrent model's state as the peer sees it: a size, and no trimming."""

    nbytes = SNAPSHOT_BYTES

    def is_trimmable(self) -> bool:
        return False


class Ours:
    """A store as a server runs it: a bounded journal without tokens. Budgets are the peer's."""

    def __init__(
        self, max_entries: int, capacity_bytes: int = _UNLIMITED, key: CacheKey | None = None
    ) -> None:
        config = PromptCacheConfig(
            snapshot_max_entries=max_entries, snapshot_capacity_bytes=capacity_bytes, snapshot_ttl_seconds=0
        )
        # That a session evicts its own snapshots is what this measures, not news: no warning.
        self.store = SnapshotStore(config, journal=Journal(max_events=1_000, keep_tokens=False), warn=False)
        self.key = key or CacheKey(session="bench")

    def insert(self, tokens: Any) -> None:
        self.store.insert(self.key, Snapshot(tokens, SNAPSHOT_BYTES))

    def lookup(self, tokens: Any) -> bool:
        return isinstance(self.store.lookup(self.key, tokens), Hit)


class Peer:
    """mlx_lm.models.cache.LRUPromptCache; only lists of Python integers serve as its tokens."""

    def __init__(self, **limits: int) -> None:
        from ..engine import backend  # noqa: F401, I001  (before mlx: see there)
        from mlx_lm.models.cache import LRUPromptCache

        self.cache = LRUPromptCache(**limits)

    def insert(self, tokens: Any) -> None:
        self.cache.insert_cache("bench", tokens, [StubLayer()])

    def lookup(self, tokens: Any) -> bool:
        return self.cache.fetch_nearest_cache("bench", tokens)[0] is not None


class Interface:
    """Our store behind the peer's own methods, as `mlxcel-lab mlx-lm-server` runs it; bounded by entries.

    A stub layer has no tensors, so its captured state weighs nothing and a byte budget would never be reached.
    """

    def __init__(self, max_entries: int) -> None:
        from ..serve.mlx_lm_cache import PerCacheType, SnapshotPromptCache

        config = PromptCacheConfig(snapshot_max_entries=max_entries, snapshot_ttl_seconds=0)
        journal = Journal(max_events=1_000, keep_tokens=False)
        self.cache = SnapshotPromptCache(
            SnapshotStore(config, rule=PerCacheType(), journal=journal, warn=False)
        )

    def insert(self, tokens: Any) -> None:
        self.cache.insert_cache("bench", tokens, [StubLayer()])

    def lookup(self, tokens: Any) -> bool:
        return self.cache.fetch_nearest_cache("bench", tokens)[0] is not None


PEERS: dict[str, int] = {"default": 10, "byte budget": 4}
"""How the peer is limited -> how many snapshots fit: its shipped 10 entries, or the bytes of 4 snapshots."""


def make_peer(kind: str) -> Peer:
    return Peer() if kind == "default" else Peer(max_size=_UNLIMITED, max_bytes=PEERS[kind] * SNAPSHOT_BYTES)


def make_ours(kind: str) -> Ours:
    if kind == "default":
        return Ours(PEERS[kind])
    return Ours(_UNLIMITED, PEERS[kind] * SNAPSHOT_BYTES)
