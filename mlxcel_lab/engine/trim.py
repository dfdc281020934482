"""A cache cut to the tokens it holds: what mlx-lm allocates ahead, or has outlived, is left out.

Lossless by construction: only slots that no later call reads are dropped, so a continuation computes the same numbers,
and a state can be truncated to the same lengths as before.
The arrays are lazy slices; whoever keeps them makes them contiguous, so that the larger parent buffer is released.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from .backend import mx  # before anything else of MLX

# isort: split
from mlx_lm.models.cache import CacheList, ChunkedKVCache, KVCache, QuantizedKVCache, RotatingKVCache


def trimmed(cache: Sequence[Any]) -> list[Any]:
    """Copies of the cache objects with their keys and values cut to the tokens held; recurrent states as they are."""
    return [_trimmed(entry) for entry in cache]


def _trimmed(entry: Any) -> Any:
    if isinstance(entry, CacheList):
        return type(entry)(*(_trimmed(inner) for inner in entry.caches))
    entry = copy.copy(entry)
    if getattr(entry, "keys", None) is None:
        return entry
    if isinstance(entry, ChunkedKVCache):
        # Its front may be out of the chunk's sight, but a truncation to fewer tokens would see it again: it stays.
        _cut(entry, entry.offset - entry.start_position)
    elif isinstance(entry, KVCache | QuantizedKVCache):
        _cut(entry, entry.offset)
    elif isinstance(entry, RotatingKVCache):
        _trim_window(entry)
    return entry


def _trim_window(entry: RotatingKVCache) -> None:
    """Before it wraps, a window holds `offset` tokens; after a long prefill it holds more than it will ever read."""
    slots = entry.keys.shape[2]
    if entry.offset < slots:
        _cut(entry, entry.offset)
    elif slots > entry.max_size and entry._idx == slots:  # still in order of time: the oldest are in front
        entry.keys, entry.values = (
            entry._trim(slots - entry.max_size, a) for a in (entry.keys, entry.values)
        )
        entry._idx = entry.max_size


def _cut(entry: Any, held: int) -> None:
    entry.keys, entry.values = (_first(a, held) for a in (entry.keys, entry.values))


def _first(array: Any, held: int) -> Any:
    if isinstance(array, mx.array):
        return array[..., :held, :]
    return type(array)(_first(part, held) for part in array)  # quantised: values, scales and biases
