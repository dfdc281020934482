"""Stores without a model: token vectors made up by rule, sizes by decree, and a clock that ticks once an operation."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from ..config import PromptCacheConfig
from ..store import CacheKey, InsertResult, Snapshot, SnapshotStore, TokenVector, as_tokens


def open_store(rule: str, capacity_bytes: int, **config: Any) -> SnapshotStore:
    """An empty store under that rule and budget whose clock ticks once an operation: the same run, the same journal.

    `config`: further fields of `PromptCacheConfig`.
    """
    settings = PromptCacheConfig(supersede=rule, snapshot_capacity_bytes=capacity_bytes, **config)
    return SnapshotStore(settings, clock=itertools.count().__next__)


def stream(conversation: str, length: int, *, fork: str = "", at: int = 0) -> TokenVector:
    """The first `length` tokens of a conversation: always the same for a name, and unlike any other's.

    `fork` names a branch that leaves the conversation at token `at`.
    """
    trunk = _tokens(conversation, length)
    return as_tokens(
        np.concatenate([trunk[:at], _tokens(f"{conversation}/{fork}", length)[at:]]) if fork else trunk
    )


def _tokens(name: str, length: int) -> TokenVector:
    seed = zlib.crc32(name.encode())
    return np.random.default_rng(seed).integers(1, 2**31 - 1, length, dtype=np.int32)


def donate(store: SnapshotStore, session: str | None, tokens: TokenVector, size_bytes: int) -> InsertResult:
    """Insert a completion's snapshot of that size which holds no tensors."""
    return store.insert(CacheKey(session=session), Snapshot(tokens, size_bytes))


def summary(stores: Mapping[str, SnapshotStore]) -> pl.DataFrame:
    """One row a store, named: rule, entries, bytes, and how many snapshots went in and out, by cause."""
    rows = []
    for name, store in stores.items():
        store.check_integrity()
        stats = store.stats()
        rows.append(
            {
                "situation": name, "rule": store.rule.name, "entries": stats.entries, "bytes": stats.bytes,
                "inserts": stats.inserts, "supersedes": stats.supersedes, "replacements": stats.replacements,
                "evictions": stats.evictions_lru,
            }
        )  # fmt: skip
    return pl.DataFrame(rows)
