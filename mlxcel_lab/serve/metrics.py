"""`GET /metrics`: the store's counters under mlxcel's Prometheus names, and what its reviewers missed.

Every removal of a snapshot shows in some counter, so that at any scrape inserts - supersedes - evictions -
replacements - cleared == entries. All store figures of one scrape are read under one lock.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ..store import SnapshotStore, Stats

_PREFIX = "mlxcel_prompt_cache"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

_COUNTERS = {
    "snapshot_hits": ("hits", "Lookups served from a stored snapshot"),
    "snapshot_misses": ("misses", "Lookups that nothing stored could serve"),
    "snapshot_inserts": ("inserts", "Snapshots admitted"),
    "snapshot_supersedes": ("supersedes", "Snapshots replaced by a longer one of their conversation"),
    "snapshot_replacements": ("replacements", "Snapshots replaced by the same tokens again"),
    "snapshot_cleared": ("cleared", "Snapshots removed by a reset"),
    "snapshot_self_evictions": ("self_evictions", "Evictions of a snapshot of the inserting session itself"),
    "snapshot_truncated_hits": ("truncated_hits", "Hits after cutting a longer snapshot"),
    "snapshot_tokens_reused": ("tokens_reused", "Prompt tokens that were not computed again"),
}
_GAUGES = {
    "snapshot_bytes": ("bytes", "Bytes of the resident snapshots"),
    "snapshot_entries": ("entries", "Resident snapshots"),
    "snapshot_capacity_bytes": ("capacity_bytes", "The budget in bytes"),
    "snapshot_peak_bytes": ("peak_bytes", "The most bytes that were ever resident"),
}


class StoreCollector(Collector):
    """The store's counters, read at each scrape: nothing is counted twice and nothing can drift."""

    def __init__(self, store: SnapshotStore) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        stats = self._store.stats()
        for name, (field, text) in _COUNTERS.items():
            yield CounterMetricFamily(f"{_PREFIX}_{name}", text, value=getattr(stats, field))
        for name, (field, text) in _GAUGES.items():
            yield GaugeMetricFamily(f"{_PREFIX}_{name}", text, value=getattr(stats, field))
        yield from self._by_reason(stats)

    @staticmethod
    def _by_reason(stats: Stats) -> Iterator[Metric]:
        evictions = CounterMetricFamily(
            f"{_PREFIX}_snapshot_evictions", "Snapshots evicted or expired, by reason", labels=["reason"]
        )
        evictions.add_metric(["lru"], stats.evictions_lru)
        evictions.add_metric(["ttl"], stats.evictions_ttl)
        yield evictions
        rejects = CounterMetricFamily(
            f"{_PREFIX}_reject", "Snapshots never admitted, by reason", labels=["reason"]
        )
        for reason, count in stats.rejections.items():
            rejects.add_metric([str(reason)], count)
        yield rejects


class Metrics:
    """A registry of its own: two servers in one process never mix."""

    def __init__(self, store: SnapshotStore) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(StoreCollector(store))
        self.first_token_seconds = Histogram(
            "mlxcel_time_to_first_token_seconds",
            "Seconds from a turn's start to its first token, by outcome of the lookup",
            ["outcome"],
            buckets=_SECONDS,
            registry=self._registry,
        )

    def text(self) -> bytes:
        return generate_latest(self._registry)
