"""The journal's events: every change of the store and every lookup, as typed immutable records.

`seq` counts from 0 without gaps in one journal; `time` is the store's clock in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .types import CacheKey, Ghost, Origin, RejectReason, RemovalCause, TokenVector


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Inserted:
    """A snapshot was admitted. What it removed stands before it (superseded, replaced) or after it (evicted)."""

    seq: int
    time: float
    key: CacheKey
    snapshot_id: int
    origin: Origin
    num_tokens: int
    size_bytes: int
    tokens: TokenVector | None = None  # None where the journal keeps no tokens


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Removed:
    """A resident snapshot left the store; `successor` is the snapshot whose insert caused it."""

    seq: int
    time: float
    key: CacheKey
    snapshot_id: int
    origin: Origin
    num_tokens: int
    size_bytes: int
    cause: RemovalCause
    successor: int | None = None
    self_eviction: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rejected:
    """A snapshot was refused; the store is as it was."""

    seq: int
    time: float
    key: CacheKey
    origin: Origin
    num_tokens: int
    size_bytes: int
    reason: RejectReason
    tokens: TokenVector | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LookedUp:
    """A lookup and its outcome: `hit`, `diverged` or `no_candidate`.

    `snapshot_id` is the snapshot that served (hit) or came nearest (diverged). `cached_tokens` is 0 on a miss.
    """

    seq: int
    time: float
    key: CacheKey
    outcome: str
    num_tokens: int
    cached_tokens: int = 0
    common_prefix_len: int = 0
    stored_len: int = 0
    truncated: bool = False
    snapshot_id: int | None = None
    ghost: Ghost | None = None
    tokens: TokenVector | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Note:
    """Something that isn't the store's own doing, kept on the same time line.

    Topics: `opened` (the settings at the start, or changed ones since), `turn` (a turn's figures), `warmup`,
    `capacity` (what `auto` was resolved to, and why).
    `data` holds plain JSON values.
    """

    seq: int
    time: float
    key: CacheKey | None
    topic: str
    data: Mapping[str, Any] = field(default_factory=dict)


Event: TypeAlias = Inserted | Removed | Rejected | LookedUp | Note
