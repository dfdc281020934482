"""The nouns of the snapshot store: what is stored, under which key, and what came of it.

Everything here is a small immutable value. Nothing here imports anything of the lab.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

TokenVector: TypeAlias = npt.NDArray[np.int32]
"""A read-only, contiguous int32 array of shape (num_tokens,)."""


class Origin(StrEnum):
    """When a snapshot was taken."""

    COMPLETION = "completion"  # a reply ended: prompt + reply
    BOUNDARY = "boundary"  # during prefill where the history ends, or by a warm-up


class RemovalCause(StrEnum):
    """Why a resident snapshot is gone."""

    SUPERSEDED = "superseded"
    REPLACED = "replaced"
    EVICTED = "evicted"
    EXPIRED = "expired"
    CLEARED = "cleared"


class RejectReason(StrEnum):
    """Why a snapshot was never admitted."""

    DISABLED = "disabled"
    PREFIX_TOO_SHORT = "prefix_too_short"
    OVERSIZED = "oversized"
    RULE = "rule"  # the supersede rule in force declined it


@dataclass(frozen=True, slots=True)
class Bucket:
    """What must agree for a state to be usable at all."""

    model_id: str = ""
    lora_id: str = ""
    template_sig: str = ""
    mm_digest: str = ""

    def __post_init__(self) -> None:
        for name in ("model_id", "lora_id", "template_sig", "mm_digest"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"bucket field {name}={getattr(self, name)!r}: expected a string")

    def differing_fields(self, other: Bucket) -> tuple[str, ...]:
        """The names of the fields in which two buckets differ."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name))


@dataclass(frozen=True, slots=True)
class CacheKey:
    """A bucket and whose conversation it is; session `None` is no conversation and never supersedes."""

    bucket: Bucket = Bucket()
    session: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.bucket, Bucket):
            raise TypeError(f"bucket {self.bucket!r}: expected a Bucket")
        if self.session is not None and not isinstance(self.session, str):
            raise TypeError(f"session {self.session!r}: expected a string, or None for no conversation")

    def digest(self) -> str:
        """A stable hexadecimal name. Fields are length-framed: ("org_1","2345") is not ("org_12345","")."""
        digest = hashlib.sha256()
        parts = [getattr(self.bucket, f.name) for f in fields(self.bucket)]
        for part in (*parts, self.session):
            raw = b"" if part is None else part.encode()
            digest.update(b"-" if part is None else b"%d:" % len(raw))
            digest.update(raw)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The whole cached state after exactly `tokens`.

    `state` is the engine's own and opaque here; it may be None, so that a budget can be studied without tensors.
    `tokens` may be given as a list, tuple, numpy or mlx array: the store keeps a `TokenVector`.
    """

    tokens: TokenVector
    size_bytes: int
    origin: Origin = Origin.COMPLETION
    state: object = None

    @property
    def num_tokens(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A resident snapshot as seen from outside, at one moment."""

    snapshot_id: int
    key: CacheKey
    snapshot: Snapshot
    inserted_at: float
    last_used_at: float
    hits: int


@dataclass(frozen=True, slots=True)
class Removal:
    """A resident snapshot that is gone, why, and through whose insert (`successor`, a snapshot id)."""

    snapshot_id: int
    key: CacheKey
    origin: Origin
    num_tokens: int
    size_bytes: int
    cause: RemovalCause
    successor: int | None = None
    self_eviction: bool = False


@dataclass(frozen=True, slots=True)
class InsertResult:
    """What an insert did, in the order in which it happened.

    `resident` is False for a rejected snapshot and for one that its own insert evicted.
    """

    snapshot_id: int | None
    resident: bool
    rejected: RejectReason | None = None
    removed: tuple[Removal, ...] = ()

    @property
    def accepted(self) -> bool:
        return self.rejected is None


@dataclass(frozen=True, slots=True, eq=False)
class Ghost:
    """The record, without state, of a snapshot that is gone or was never admitted, and why.

    `cause` is a `RemovalCause`, or the `RejectReason` of a snapshot that was never admitted. `snapshot_id` is None for
    the latter. `by` is the snapshot id whose insert removed it; `at`, `seq`: when, on the clock and in the journal.
    """

    snapshot_id: int | None
    key: CacheKey
    num_tokens: int
    size_bytes: int
    origin: Origin
    cause: RemovalCause | RejectReason
    at: float
    seq: int
    by: int | None = None
    tokens: TokenVector | None = None  # None where the journal keeps no tokens


@dataclass(frozen=True, slots=True, eq=False)
class Hit:
    """A stored state serves the request's first `cached_tokens` tokens; `truncated`: after cutting it to them."""

    name: ClassVar[str] = "hit"

    snapshot_id: int
    snapshot: Snapshot
    cached_tokens: int
    truncated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Diverged:
    """Something is stored under this key, but none of it is a usable prefix of the request.

    `common_prefix_len` tokens agree with the nearest stored vector, which has `stored_len` tokens and is `stored`.
    `stored_len` > `common_prefix_len` == len(request): the stored vector is longer than the request.
    """

    name: ClassVar[str] = "diverged"

    common_prefix_len: int
    stored_len: int
    snapshot_id: int
    stored: TokenVector
    ghost: Ghost | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NoCandidate:
    """Nothing is stored under this key."""

    name: ClassVar[str] = "no_candidate"

    ghost: Ghost | None = None


Outcome: TypeAlias = Hit | Diverged | NoCandidate
"""What came of a lookup; `name` is what the journal calls it."""
