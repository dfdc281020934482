"""Small stores and long journals for the charts' tests."""

import itertools

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import (
    CacheKey,
    Inserted,
    Journal,
    Origin,
    RemovalCause,
    Removed,
    Snapshot,
    SnapshotStore,
)
from mlxcel_lab.view import chart_data
from mlxcel_lab.view.chart_data import Axis


def open_store(capacity=100, journal=None, **config):
    config = PromptCacheConfig(snapshot_capacity_bytes=capacity, min_prefix_tokens=1, **config)
    return SnapshotStore(config, clock=itertools.count().__next__, journal=journal)


def insert(store, session, length, size=10, origin=Origin.COMPLETION, first=0):
    return store.insert(CacheKey(session=session), Snapshot([first, *range(1, length)], size, origin))


def shaped_of(journal, over="operation"):
    frames = journal.frame()
    axis = Axis(frames.events, over)
    return axis, chart_data.snapshots(frames.lifetimes, axis).rows


def long_journal(snapshots, sessions=4):
    journal, key = Journal(), [CacheKey(session=f"s{n}") for n in range(sessions)]
    for n in range(snapshots):
        common = {"key": key[n % sessions], "origin": Origin.COMPLETION, "num_tokens": 5, "size_bytes": 10}
        journal.append(Inserted, time=float(n), snapshot_id=n, **common)
        if n >= 50:
            gone = {**common, "key": key[(n - 50) % sessions]}
            journal.append(
                Removed, time=float(n), snapshot_id=n - 50, cause=RemovalCause.EVICTED, successor=n, **gone
            )
    return journal
