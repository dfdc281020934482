"""Checks of what callers hand to the store, before anything changes."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

from .tokens import as_tokens
from .types import CacheKey, Origin, Snapshot


def checked_key(key: Any) -> CacheKey:
    if not isinstance(key, CacheKey):
        raise TypeError(f"key {key!r}: expected a CacheKey(Bucket(...), session)")
    return key


def checked_snapshot(snapshot: Any) -> Snapshot:
    """The snapshot with its tokens as a `TokenVector`; the same object where they were one already."""
    if not isinstance(snapshot, Snapshot):
        raise TypeError(
            f"snapshot is {type(snapshot).__name__}: expected a Snapshot(tokens, size_bytes, ...)"
        )
    tokens = as_tokens(snapshot.tokens)
    if len(tokens) == 0:
        raise ValueError("snapshot has no tokens: a state after nothing can't be reused")
    size = whole("size_bytes", snapshot.size_bytes)
    origin = _origin(snapshot.origin)
    if tokens is snapshot.tokens and size is snapshot.size_bytes and origin is snapshot.origin:
        return snapshot
    return replace(snapshot, tokens=tokens, size_bytes=size, origin=origin)


def _origin(origin: Any) -> Origin:
    try:
        return Origin(origin)
    except ValueError:
        raise ValueError(f"origin {origin!r}: expected one of {', '.join(Origin)}") from None


def whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}={value!r}: expected a whole number, 0 or more")
    number = operator.index(value)
    if number < 0:
        raise ValueError(f"{name}={number}: expected 0 or more")
    return number
