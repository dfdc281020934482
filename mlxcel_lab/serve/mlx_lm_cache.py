"""Our store behind the interface of mlx-lm's `LRUPromptCache`, so that its own server can run on it.

What the interface doesn't know, and what is made of it:

- *Origin.* mlx-lm marks a cache `assistant` (a reply ended) or `user` / `system` (a part of the prompt ended during
  prefill). `assistant` is a completion, the others are boundaries.
- *Session.* There is none, so conversations are told apart by prefix: all callers share one session, and a snapshot
  supersedes strict prefixes of it as `PerCacheType` says. What extends a vector counts as the same conversation going
  on; what diverges from it as another one. The cost: after a fork, the branch that comes second finds the fork's last
  common snapshot gone. A `system` snapshot is the trunk of many conversations and stays where states can't be cut.
- *Images.* mlx-lm writes 60-bit image ids among the tokens. They go into the bucket's `mm_digest`, so that a state
  is shared only by requests with just the same images.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine.state import CapturedState, capture
from ..store import (
    Bucket,
    CacheKey,
    Hit,
    Origin,
    Snapshot,
    SnapshotStore,
    SupersedeRule,
    TokenVector,
    as_tokens,
)

SHARED_SESSION = "__mlx_lm__"
CACHE_TYPES = {"assistant": Origin.COMPLETION, "user": Origin.BOUNDARY, "system": Origin.BOUNDARY}
_INT32_END = 2**31
_IMAGE = 0  # stands at an image's positions; which image it is, the bucket says


@dataclass(frozen=True, slots=True, eq=False)
class _TypedState:
    """A captured state that remembers mlx-lm's name for where it was taken."""

    state: CapturedState
    cache_type: str


class PerCacheType(SupersedeRule):
    """As `origin`, by mlx-lm's cache types: a longer cache replaces its prefixes of the same type, `system` ones stay.

    Where the longer state can itself be cut back to the shorter one (dense KV, a window that hasn't wrapped), the
    shorter one adds nothing and gives way whatever its type: mlx-lm's own rule for those families.
    """

    name = "cache_type"

    def supersedes(self, key: CacheKey, newcomer: Snapshot, ancestor: Snapshot) -> bool:
        old, new = _typed(ancestor), _typed(newcomer)
        same_chain = old.cache_type != "system" and old.cache_type == new.cache_type
        return same_chain or new.state.can_truncate(ancestor.num_tokens)

    def explain(self, key: CacheKey) -> str:
        return "a longer cache replaces its strict prefixes of the same cache type, or all that it can be cut back to"


class SnapshotPromptCache:
    """`LRUPromptCache`'s methods over a `SnapshotStore`. Call it from the thread that owns MLX, as mlx-lm does.

    What differs from the peer, beside the store's own contract: a fetch leaves at least one token to forward, and a
    cache is copied in and out, so that nothing that the caller does to it later changes what is stored.
    """

    def __init__(self, store: SnapshotStore) -> None:
        self.store = store

    def __len__(self) -> int:
        return len(self.store)

    @property
    def nbytes(self) -> int:
        return self.store.total_bytes

    def fetch_nearest_cache(
        self, model: Hashable, tokens: Sequence[int]
    ) -> tuple[list[Any] | None, Sequence[int]]:
        """A cache of the caller's own and the tokens left to forward: (None, all of them) where nothing serves."""
        if not len(tokens):
            return None, tokens
        key, vector = _address(model, tokens)
        outcome = self.store.lookup(key, vector, _can_truncate, reserve=1)
        if not isinstance(outcome, Hit):
            return None, tokens
        cache = _typed(outcome.snapshot).state.restore(outcome.cached_tokens)
        return cache, tokens[outcome.cached_tokens :]

    def insert_cache(
        self,
        model: Hashable,
        tokens: Sequence[int],
        prompt_cache: Sequence[Any],
        *,
        cache_type: str = "assistant",
    ) -> None:
        """Donate a cache that holds exactly `tokens`. Raises ValueError for an unknown cache type, nothing stored."""
        if cache_type not in CACHE_TYPES:
            raise ValueError(f"cache_type={cache_type!r}: expected one of {', '.join(CACHE_TYPES)}")
        key, vector = _address(model, tokens)
        state = capture(prompt_cache, len(tokens))
        typed = _TypedState(state, cache_type)
        self.store.insert(key, Snapshot(vector, state.nbytes, CACHE_TYPES[cache_type], typed))

    def trim_to(self, *, n_sequences: int | None = None, n_bytes: int | None = None) -> None:
        """Evict least recently used until at most so many caches and bytes are left."""
        self.store.trim(max_entries=n_sequences, max_bytes=n_bytes)

    def stats_by_type(self) -> dict[str, dict[str, int]]:
        stats = {cache_type: {"n_sequences": 0, "n_bytes": 0} for cache_type in CACHE_TYPES}
        for entry in self.store.entries():
            row = stats[_typed(entry.snapshot).cache_type]
            row["n_sequences"] += 1
            row["n_bytes"] += entry.snapshot.size_bytes
        return stats


def _address(model: Hashable, tokens: Sequence[int]) -> tuple[CacheKey, TokenVector]:
    """Under which key, and the tokens as a vector; image ids, which no int32 holds, go into the key."""
    name = repr(model)
    try:
        return CacheKey(Bucket(model_id=name), SHARED_SESSION), as_tokens(tokens)
    except ValueError:
        images = [token for token in tokens if not -_INT32_END <= token < _INT32_END]
    digest = hashlib.sha256(repr(images).encode()).hexdigest()
    vector = as_tokens([token if -_INT32_END <= token < _INT32_END else _IMAGE for token in tokens])
    return CacheKey(Bucket(model_id=name, mm_digest=digest), SHARED_SESSION), vector


def _typed(snapshot: Snapshot) -> _TypedState:
    assert isinstance(snapshot.state, _TypedState)
    return snapshot.state


def _can_truncate(snapshot: Snapshot, num_tokens: int) -> bool:
    return _typed(snapshot).state.can_truncate(num_tokens)
