"""Small stores, keys and snapshots for tests: no tensors, a clock that the test moves."""

from __future__ import annotations

from typing import Any

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import Bucket, CacheKey, Journal, Origin, Snapshot, SnapshotStore, SupersedeRule

A, B, NOBODY = CacheKey(session="a"), CacheKey(session="b"), CacheKey()


class Clock:
    """Seconds, moved by the test."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def make_store(
    *,
    capacity: int = 1_000_000,
    max_entries: int = 4096,
    ttl: float = 0,
    min_prefix: int = 1,
    rule: str | SupersedeRule = "origin",
    enabled: bool = True,
    clock: Any = None,
    journal: Journal | None = None,
    **options: Any,
) -> SnapshotStore:
    config = PromptCacheConfig(
        enabled=enabled,
        min_prefix_tokens=min_prefix,
        snapshot_capacity_bytes=capacity,
        snapshot_max_entries=max_entries,
        snapshot_ttl_seconds=ttl,
    )
    return SnapshotStore(config, clock=clock or Clock(), rule=rule, journal=journal, **options)


def snap(tokens: Any, size: int = 1, origin: Origin = Origin.COMPLETION, state: object = None) -> Snapshot:
    return Snapshot(tokens, size, origin, state)


def model_key(model: str, session: str | None = "a") -> CacheKey:
    return CacheKey(Bucket(model), session)


def lengths(store: SnapshotStore) -> list[int]:
    """The residents' token counts, least recently used first."""
    return [entry.snapshot.num_tokens for entry in store.entries()]
