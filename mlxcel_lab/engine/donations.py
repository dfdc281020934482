"""What a turn gives to the store: snapshots taken on the way, handed over when it has ended, and the time that took."""

from __future__ import annotations

from collections.abc import Callable

from ..store import SnapshotStore
from ..store.types import CacheKey, InsertResult, Origin, Snapshot
from .forward import ForwardPass


class Donations:
    """The snapshots of one turn. Until `give` the store knows nothing of them.

    `seconds` is what taking and giving them took: what donating adds to a turn.
    """

    def __init__(self, store: SnapshotStore, clock: Callable[[], float]) -> None:
        self.seconds = 0.0
        self._store = store
        self._clock = clock
        self._taken: list[Snapshot] = []

    def take(self, forward: ForwardPass, num_tokens: int, origin: Origin) -> None:
        """Take a snapshot of `num_tokens` tokens; one that the store will refuse costs no copy, and is still offered,
        so that it is counted."""
        started, config = self._clock(), self._store.config
        wanted = config.enabled and num_tokens >= config.min_prefix_tokens
        with_state = wanted and forward.size_bytes <= config.capacity_bytes
        self._taken.append(forward.snapshot(origin, with_state=with_state))
        self.seconds += self._clock() - started

    def give(self, key: CacheKey) -> list[InsertResult]:
        """Insert them, in the order in which they were taken."""
        started = self._clock()
        results = [self._store.insert(key, snapshot) for snapshot in self._taken]
        self._taken = []
        self.seconds += self._clock() - started
        return results
