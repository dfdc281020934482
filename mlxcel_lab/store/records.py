"""One snapshot's record inside the store, from its insert until its ghost is forgotten."""

from __future__ import annotations

from dataclasses import dataclass

from .prefix_tree import Item
from .types import CacheKey, Entry, Ghost, Origin, RejectReason, Removal, RemovalCause, Snapshot


@dataclass(frozen=True, slots=True)
class Fate:
    """Why a snapshot is gone: when on the clock (`at`) and in the journal (`seq`), and through whose insert (`by`)."""

    cause: RemovalCause | RejectReason
    at: float
    seq: int
    by: int | None = None


class Record(Item):
    """A resident snapshot, or, without `snapshot` and with a `fate`, a ghost (`snapshot_id` None: it was rejected)."""

    __slots__ = (
        "fate", "hits", "inserted_at", "key", "last_used_at", "num_tokens", "origin", "size_bytes", "snapshot",
        "snapshot_id",
    )  # fmt: skip

    def __init__(
        self, key: CacheKey, snapshot: Snapshot, snapshot_id: int | None, now: float, tick: int
    ) -> None:
        self.key = key
        self.snapshot_id = snapshot_id
        self.origin: Origin = snapshot.origin
        self.num_tokens = len(snapshot.tokens)
        self.size_bytes = snapshot.size_bytes
        self.snapshot: Snapshot | None = snapshot
        self.inserted_at = self.last_used_at = now
        self.hits = 0
        self.fate: Fate | None = None
        self.vector = snapshot.tokens
        self.alive = snapshot_id is not None
        self.tick = tick

    @property
    def resident(self) -> Snapshot:
        """The snapshot of a record that has one."""
        assert self.snapshot is not None
        return self.snapshot

    @property
    def number(self) -> int:
        """The id of a record that was admitted."""
        assert self.snapshot_id is not None
        return self.snapshot_id

    def is_own_of(self, newcomer: Record) -> bool:
        """Whether both are of one conversation."""
        return self.key.session is not None and self.key.session == newcomer.key.session

    def entry(self) -> Entry:
        return Entry(self.number, self.key, self.resident, self.inserted_at, self.last_used_at, self.hits)

    def removal(self, cause: RemovalCause, successor: int | None, self_eviction: bool) -> Removal:
        return Removal(
            self.number,
            self.key,
            self.origin,
            self.num_tokens,
            self.size_bytes,
            cause,
            successor,
            self_eviction,
        )

    def ghost(self) -> Ghost:
        assert self.fate is not None
        fate = self.fate
        return Ghost(
            self.snapshot_id, self.key, self.num_tokens, self.size_bytes, self.origin, fate.cause, fate.at, fate.seq,
            fate.by, self.path_tokens(),
        )  # fmt: skip
