"""The exact-prefix snapshot store: which model states are kept, which are found again, and which make room."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ..config import PromptCacheConfig
from .arguments import checked_key, checked_snapshot, whole
from .counters import Counters, Stats
from .events import Inserted, LookedUp, Note, Rejected, Removed
from .index import Index
from .integrity import check_index
from .journal import Journal
from .recent import remember
from .records import Fate, Record
from .rules import SupersedeRule, make_rule
from .search import CanTruncate, as_event, replaced, search
from .tokens import as_tokens
from .types import (
    CacheKey,
    Entry,
    InsertResult,
    Outcome,
    RejectReason,
    Removal,
    RemovalCause,
    Snapshot,
)

_LOG = logging.getLogger("mlxcel_lab.store")
_MOST_WARNED = 4096  # sessions that were warned of, before the first of them may be warned of again


class SnapshotStore:
    """Snapshots by bucket, session and exact tokens, under one budget; thread-safe.

    `clock` gives seconds and may only rise. `rule` overrides the configuration's supersede rule. `journal` must be
    empty. `sources` says where each setting came from, for the journal. `max_ghosts` and `max_ghost_tokens` bound what
    is remembered of snapshots that are gone. `warn=False`: a simulation that looks for the budget's cliff on purpose.
    """

    def __init__(
        self,
        config: PromptCacheConfig | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        rule: str | SupersedeRule | None = None,
        journal: Journal | None = None,
        sources: Mapping[str, str] | None = None,
        max_ghosts: int = 1024,
        max_ghost_tokens: int = 4_194_304,
        warn: bool = True,
    ) -> None:
        self.config = PromptCacheConfig() if config is None else config
        self.config.capacity_bytes  # noqa: B018  (refuses `auto` here, before anything is stored)
        self.rule = make_rule(self.config.supersede if rule is None else rule)
        self.journal = Journal() if journal is None else journal
        if self.journal.next_seq:
            raise ValueError(
                f"journal holds {self.journal.next_seq} events already: a store needs its own, empty"
            )
        self._clock = clock
        self._now = clock()
        self._lock = threading.RLock()
        self._index = Index(whole("max_ghosts", max_ghosts), whole("max_ghost_tokens", max_ghost_tokens))
        self._counters = Counters()
        self._next_id = 0
        self._warns, self._warned = warn, OrderedDict[str, None]()
        self._open(sources or {})

    def insert(self, key: CacheKey, snapshot: Snapshot) -> InsertResult:
        """Donate a snapshot: admit or refuse it, supersede, replace, then evict down to the budget.

        Bad arguments raise a TypeError or ValueError before anything changes. O(tokens), whatever the number of
        entries, and O(1) for each one removed.
        """
        key, snapshot = checked_key(key), checked_snapshot(snapshot)
        with self._lock:
            self._advance()
            reason = self._refusal(key, snapshot)
            result = self._admit(key, snapshot) if reason is None else self._reject(key, snapshot, reason)
            self.rule.saw_insert(key, snapshot)
            return result

    def lookup(
        self, key: CacheKey, tokens: Any, can_truncate: CanTruncate | None = None, *, reserve: int = 0
    ) -> Outcome:
        """The longest snapshot that serves a request: a stored prefix, else one that may be cut to the common prefix.

        At least `reserve` of the request's tokens are left to forward: a stored prefix longer than that allows serves
        only by truncation, else the next shorter one does. A hit reuses at least `min_prefix_tokens` tokens. Snapshots
        are offered to `can_truncate` by falling common prefix, then most recently used first. O(tokens); where
        `can_truncate` refuses the first, going on costs O(n log n) for the n entries under this key. What a hit counts
        and refreshes stays so, also where the caller then gives up: the journal tells the same.
        """
        key, vector, reserve = checked_key(key), as_tokens(tokens), whole("reserve", reserve)
        with self._lock:
            self._advance()
            self._expire()
            found = self._index.find(key, vector)
            outcome, record = search(found, self.config.min_prefix_tokens, can_truncate, reserve)
            if record is not None:
                self._index.use(record, self._now)
            self._counters.count_lookup(key, len(vector), outcome, self._now)
            seen = as_event(outcome)
            self.journal.append(
                LookedUp, time=self._now, key=key, num_tokens=len(vector), tokens=vector, **seen
            )
            self.rule.saw_lookup(key, vector, outcome)
            return outcome

    def expire(self) -> tuple[Removal, ...]:
        """Remove what has been idle for the time to live or longer (0: nothing ever). O(expired)."""
        with self._lock:
            self._advance()
            return self._expire()

    def clear(self) -> tuple[Removal, ...]:
        """Remove everything; counters, journal and ghosts stay."""
        with self._lock:
            self._advance()
            return tuple(
                self._remove(record, RemovalCause.CLEARED) for record in [*self._index.residents.values()]
            )

    def trim(self, *, max_entries: int | None = None, max_bytes: int | None = None) -> tuple[Removal, ...]:
        """Evict least recently used until at most so many entries and bytes are left (None: no bound). O(evicted)."""
        with self._lock:
            self._advance()
            entries = len(self) if max_entries is None else max(max_entries, 0)
            size = self.total_bytes if max_bytes is None else max(max_bytes, 0)
            return tuple(self._shrink(entries, size))

    def now(self) -> float:
        """The store's clock, in seconds: what `Entry` and `Ghost` are dated by."""
        with self._lock:
            self._advance()
            return self._now

    def note(self, topic: str, data: Mapping[str, Any], key: CacheKey | None = None) -> Note:
        """Put something that isn't the store's doing on the journal's time line; `data` holds plain JSON values."""
        with self._lock:
            self._advance()
            return self.journal.append(Note, time=self._now, key=key, topic=topic, data=dict(data))

    def entries(self) -> list[Entry]:
        """What is resident now, least recently used first."""
        with self._lock:
            return [record.entry() for record in self._index.residents.values()]

    def longest_prefix(self, key: CacheKey, tokens: Any) -> Entry | None:
        """The longest resident prefix of these tokens; nothing is counted, refreshed or journalled. O(tokens)."""
        key, vector = checked_key(key), as_tokens(tokens)
        with self._lock:
            return next((record.entry() for record in self._index.find(key, vector).prefixes()), None)

    def stats(self) -> Stats:
        with self._lock:
            return Stats.of(self._counters, self.config, len(self), self.total_bytes, len(self._index.ghosts))

    def stats_payload(self) -> dict[str, Any]:
        """The stats under the names of mlxcel's `/v1/cache/stats`; plain JSON values."""
        with self._lock:
            self._advance()
            stats = self.stats()
            last = stats.last_reject
            when = last and int(1000 * (time.time() - (self._now - last.at)))
            return {**stats.payload(), "last_reject_at_unix_ms": when}

    def check_integrity(self) -> None:
        """Recompute everything; raises an IntegrityError that names what disagrees."""
        with self._lock:
            check_index(self._index, self.config, self._counters)

    @property
    def total_bytes(self) -> int:
        return self._index.total_bytes

    @property
    def peak_bytes(self) -> int:
        """The most bytes that were ever resident after an operation."""
        return self._counters.peak_bytes

    def __len__(self) -> int:
        return len(self._index.residents)

    def __bool__(self) -> bool:
        return True  # an empty store is still a store: `store or other` must not lose it

    def __repr__(self) -> str:
        return (
            f"SnapshotStore({len(self)} of {self.config.snapshot_max_entries} entries, {self.total_bytes:,} of "
            f"{self.config.capacity_bytes:,} bytes, rule={self.rule.name})"
        )

    def _repr_html_(self) -> str:
        return self.stats()._repr_html_()

    def _open(self, sources: Mapping[str, str]) -> None:
        settings = {**asdict(self.config), "rule": self.rule.name, "sources": dict(sources)}
        # The short names are those of the views; the configuration's own stand beside them.
        for name in ("capacity_bytes", "max_entries", "ttl_seconds"):
            settings[name] = settings[f"snapshot_{name}"]
        self.journal.append(Note, time=self._now, key=None, topic="opened", data=settings)

    def _advance(self) -> None:
        # A clock that falls back would break the order by recency; it stands still instead.
        self._now = max(self._now, self._clock())

    def _refusal(self, key: CacheKey, snapshot: Snapshot) -> RejectReason | None:
        if not self.config.enabled:
            return RejectReason.DISABLED
        if len(snapshot.tokens) < self.config.min_prefix_tokens:
            return RejectReason.PREFIX_TOO_SHORT
        if snapshot.size_bytes > self.config.capacity_bytes:
            return RejectReason.OVERSIZED
        return None if self.rule.admits(key, snapshot) else RejectReason.RULE

    def _reject(self, key: CacheKey, snapshot: Snapshot, reason: RejectReason) -> InsertResult:
        self._counters.count_rejection(key, snapshot, reason, self._now)
        event = self.journal.append(
            Rejected, time=self._now, key=key, origin=snapshot.origin, num_tokens=len(snapshot.tokens),
            size_bytes=snapshot.size_bytes, reason=reason, tokens=snapshot.tokens,
        )  # fmt: skip
        found = self._index.find(key, snapshot.tokens)
        self._index.add_ghost(found, key, snapshot, Fate(reason, self._now, event.seq))
        return InsertResult(None, False, rejected=reason)

    def _admit(self, key: CacheKey, snapshot: Snapshot) -> InsertResult:
        found = self._index.find(key, snapshot.tokens)
        gone = replaced(found, key, snapshot, self.rule)  # asks the rule before anything changes
        snapshot_id, self._next_id = self._next_id, self._next_id + 1
        record = self._index.add(found, key, snapshot, snapshot_id, self._now)
        removed = [self._remove(old, cause, by=record) for old, cause in gone]
        self._counters.inserts += 1
        self.journal.append(
            Inserted, time=self._now, key=key, snapshot_id=snapshot_id, origin=snapshot.origin,
            num_tokens=record.num_tokens, size_bytes=record.size_bytes, tokens=snapshot.tokens,
        )  # fmt: skip
        budget = self.config.snapshot_max_entries, self.config.capacity_bytes
        removed += self._shrink(*budget, by=record)
        self._counters.peak_bytes = max(self._counters.peak_bytes, self.total_bytes)
        return InsertResult(snapshot_id, record.alive, removed=tuple(removed))

    def _shrink(self, max_entries: int, max_bytes: int, by: Record | None = None) -> list[Removal]:
        removed = []
        residents = self._index.residents
        while len(residents) > max_entries or self.total_bytes > max_bytes:
            removed.append(self._remove(next(iter(residents.values())), RemovalCause.EVICTED, by))
        return removed

    def _expire(self) -> tuple[Removal, ...]:
        removed = []
        ttl, residents = self.config.snapshot_ttl_seconds, self._index.residents
        while ttl and residents:
            oldest = next(iter(residents.values()))
            if self._now - oldest.last_used_at < ttl:
                break
            removed.append(self._remove(oldest, RemovalCause.EXPIRED))
        return tuple(removed)

    def _remove(self, record: Record, cause: RemovalCause, by: Record | None = None) -> Removal:
        evicted_own = cause is RemovalCause.EVICTED and by is not None and record.is_own_of(by)
        successor = None if by is None else by.number
        self._counters.removed[cause] += 1
        event = self.journal.append(
            Removed, time=self._now, key=record.key, snapshot_id=record.number, origin=record.origin,
            num_tokens=record.num_tokens, size_bytes=record.size_bytes, cause=cause, successor=successor,
            self_eviction=evicted_own,
        )  # fmt: skip
        self._index.bury(record, Fate(cause, self._now, event.seq, successor))
        if evicted_own:
            self._count_self_eviction(str(record.key.session))
        return record.removal(cause, successor, evicted_own)

    def _count_self_eviction(self, session: str) -> None:
        self._counters.self_evictions += 1
        if self._warns and session not in self._warned:
            remember(self._warned, session, None, _MOST_WARNED)
            _LOG.warning(
                "session %r evicts its own snapshots, and %d of %d entries, %d of %d bytes are still in use: raise the "
                "budget",
                session, len(self), self.config.snapshot_max_entries, self.total_bytes,
                self.config.capacity_bytes,
            )  # fmt: skip
