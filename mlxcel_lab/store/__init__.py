"""The snapshot store: numpy and the standard library only (polars where a frame is asked for)."""

from .compare import common_prefix
from .counters import Stats
from .events import Event, Inserted, LookedUp, Note, Rejected, Removed
from .integrity import IntegrityError
from .journal import Journal
from .rules import SupersedeRule, make_rule, rule_names
from .store import SnapshotStore
from .tokens import as_tokens
from .types import (
    Bucket,
    CacheKey,
    Diverged,
    Entry,
    Ghost,
    Hit,
    InsertResult,
    NoCandidate,
    Origin,
    Outcome,
    RejectReason,
    Removal,
    RemovalCause,
    Snapshot,
    TokenVector,
)

__all__ = [
    "Bucket", "CacheKey", "Diverged", "Entry", "Event", "Ghost", "Hit", "InsertResult", "Inserted", "IntegrityError",
    "Journal", "LookedUp", "NoCandidate", "Note", "Origin", "Outcome", "RejectReason", "Rejected", "Removal",
    "RemovalCause", "Removed", "Snapshot", "SnapshotStore", "Stats", "SupersedeRule", "TokenVector", "as_tokens",
    "common_prefix", "make_rule", "rule_names",
]  # fmt: skip
